"""Starts `dure serve` for a test and looks at its processes. Linux only: reads /proc."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = pathlib.Path(os.environ.get("DURE_BIN", ROOT / "build/bin"))
DEMO = ROOT / "models/demo-moe"


def recorded_prompts():
    with open(DEMO / "prompts.jsonl", encoding="utf-8") as rows:
        return [json.loads(row) for row in rows]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(condition, seconds: float, what: str):
    """Polls until the condition gives something true; the bound only ends a test that fails."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {what}")


def descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError, IndexError):
            stat = (entry / "stat").read_text()
            parent = int(stat.rsplit(")", 1)[1].split()[1])
            children.setdefault(parent, []).append(int(entry.name))
    found, open_ = [], [pid]
    while open_:
        for child in children.get(open_.pop(), []):
            found.append(child)
            open_.append(child)
    return found


def command_of(pid: int) -> str:
    try:
        return (pathlib.Path("/proc") / str(pid) / "comm").read_text().strip()
    except OSError:
        return ""


def alive(pid: int) -> bool:
    try:
        stat = (pathlib.Path("/proc") / str(pid) / "stat").read_text()
    except OSError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"


class Server:
    def __init__(self, *flags: str, model=DEMO):
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self.process = subprocess.Popen(
            [BIN / "dure", "serve", str(model), "--port", str(self.port), *flags],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.output = ""

    def healthy(self) -> bool:
        if self.process.poll() is not None:
            said = self.process.stdout.read() if self.process.stdout else "(its log was closed)"
            raise AssertionError(f"the server ended: {said}")
        try:
            with urllib.request.urlopen(self.base + "/health", timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def ranks(self) -> list[int]:
        return [pid for pid in descendants(self.process.pid) if command_of(pid) == "dure-rank"]

    def get(self, path: str):
        with urllib.request.urlopen(self.base + path, timeout=30) as answer:
            return answer.status, answer.read().decode()

    def metric(self, name: str) -> float:
        """Of all its series together."""
        return sum(float(line.rsplit(" ", 1)[1]) for line in self.get("/metrics")[1].splitlines()
                   if line.startswith(name + "{"))

    def post(self, path: str, body, timeout: float = 60):
        """Status, decoded JSON and headers, whatever the status."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data,
                                         {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.status, json.loads(answer.read()), answer.headers
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read()), error.headers


@contextlib.contextmanager
def serving(*flags: str, model=DEMO):
    server = Server(*flags, model=model)
    family: list[int] = []
    try:
        wait_for(server.healthy, 60, "the server is ready")
        family = descendants(server.process.pid)
        yield server
    finally:
        if server.process.poll() is None:
            family = sorted({*family, *descendants(server.process.pid)})
            server.process.send_signal(signal.SIGTERM)
        try:
            server.output, _ = server.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            server.process.kill()
            raise
    left = [pid for pid in family if alive(pid)]
    assert not left, f"left behind: {[command_of(pid) for pid in left]}"
