"""Programs run for their output, and servers that are ended whatever happens."""

import contextlib
import http.client
import signal
import socket
import subprocess
import tempfile
import time


def output_of(command: list[str]) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\nended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Served:
    """A server, from its being ready to its end."""

    def __init__(self, command: list[str], port: int):
        self.command, self.port = command, port
        self.log = tempfile.TemporaryFile("w+")
        self.process: subprocess.Popen | None = None

    def healthy(self) -> bool:
        if self.process.poll() is not None:
            self.log.seek(0)
            raise SystemExit(f"{' '.join(self.command)}\nended: {self.log.read()[-2000:]}")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        with contextlib.closing(connection), contextlib.suppress(OSError):
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        return False

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=subprocess.STDOUT)
        try:
            while not self.healthy():
                time.sleep(0.2)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()
