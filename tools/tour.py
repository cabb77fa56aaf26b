#!/usr/bin/env python3
"""The tour of `make run`: starts the demo model on 4 ranks of this machine, asks three questions
through the HTTP API, shows how fast it answered and which rank's experts worked, and stops.
Standard library only."""

import argparse
import collections
import json
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAYOUT = ["--tp", "2", "--pp", "2", "--ep", "2"]
QUESTIONS = [
    "How many 80 GB GPUs hold the weights of a 1T-parameter model in BF16?",
    "텐서 병렬이 뭐야?",
    "Explain how a giant model is served, step by step.",
]
READY_WITHIN_S = 120
STOP_WITHIN_S = 60


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_ready(base: str, server: subprocess.Popen) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise SystemExit(server.returncode or 1)
        try:
            with urllib.request.urlopen(base + "/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise SystemExit(f"error: the server was not ready within {READY_WITHIN_S} s")


def ask(base: str, question: str) -> None:
    print(f"\n\033[1m> {question}\033[0m" if sys.stdout.isatty() else f"\n> {question}")
    body = {
        "model": "demo-moe",
        "messages": [{"role": "user", "content": question}],
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    request = urllib.request.Request(base + "/v1/chat/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    start = time.monotonic()
    first = None
    tokens = 0
    with urllib.request.urlopen(request, timeout=60) as answer:
        for line in answer:
            line = line.decode().strip()
            if not line.startswith("data: ") or line == "data: [DONE]":
                continue
            chunk = json.loads(line[len("data: "):])
            if "error" in chunk:
                raise SystemExit(f"error: {chunk['error']['message']}")
            if chunk.get("usage"):
                tokens = chunk["usage"]["completion_tokens"]
            for choice in chunk["choices"]:
                text = choice["delta"].get("content") or ""
                if text and first is None:
                    first = time.monotonic()
                print(text, end="", flush=True)
    end = time.monotonic()
    first = first or end
    rate = (tokens - 1) / (end - first) if tokens > 1 and end > first else 0.0
    print(f"\n  [{tokens} tokens, the first after {first - start:.3f} s, then {rate:.0f} tokens/s]")


def show_experts(base: str) -> None:
    with urllib.request.urlopen(base + "/metrics", timeout=30) as answer:
        text = answer.read().decode()
    counts = collections.Counter()
    for rank, count in re.findall(r'^dure:expert_tokens_total\{.*rank="(\d+)"\} (\d+)', text, re.M):
        counts[int(rank)] += int(count)
    if not counts:
        raise SystemExit("error: /metrics tells no expert tokens by rank")
    print("\nToken slots that each rank's experts computed:")
    most = max(counts.values()) or 1
    for rank, count in sorted(counts.items()):
        print(f"  rank {rank}  {count:7,}  {'█' * round(30 * count / most)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--leave-running", action="store_true", help="serve until Ctrl-C")
    options = parser.parse_args()
    port = options.port or free_port()
    base = f"http://127.0.0.1:{port}"
    dure = pathlib.Path(options.bin).resolve() / "dure"
    server = subprocess.Popen([dure, "serve", "models/demo-moe", *LAYOUT, "--port", str(port)],
                              cwd=ROOT)
    try:
        wait_until_ready(base, server)
        if options.leave_running:
            body = '{"model":"demo-moe","messages":[{"role":"user","content":"What is a KV cache?"}]}'
            print(f"\nTry it:\n  curl {base}/v1/chat/completions "
                  f"-H 'Content-Type: application/json' -d '{body}'\n"
                  f"  {options.bin}/dure chat {base}\nCtrl-C stops it.", flush=True)
            return server.wait()
        for question in QUESTIONS:
            ask(base, question)
        show_experts(base)
    except KeyboardInterrupt:
        # The terminal has sent the server its own Ctrl-C: it drains and ends.
        return server.wait(timeout=STOP_WITHIN_S)
    except BaseException:
        server.terminate()
        server.wait(timeout=STOP_WITHIN_S)
        raise
    print("\nStopping the ranks ...", flush=True)
    server.send_signal(signal.SIGTERM)
    status = server.wait(timeout=STOP_WITHIN_S)
    print("All ranks have left." if status == 0 else f"error: the server ended with status {status}")
    return status


if __name__ == "__main__":
    sys.exit(main())
