"""A real server under hostile clients (http_fuzz.py, briefly), clients that vanish all at once, and a log
that cannot be written."""

import http.client
import json
import os
import subprocess
import sys

import pytest

import http_fuzz
from serving import BIN, DEMO, free_port, serving, wait_for

BODY = json.dumps({"messages": [{"role": "user", "content": "hi"}], "max_tokens": 4})


@pytest.fixture(scope="module")
def server():
    with serving("--tp", "2", "--idle-timeout", "20") as running:
        yield running


def test_attacks_leave_nothing_behind(server):
    attackers, grown, wrong = http_fuzz.attack(server, seconds=10, threads=6, seed=7)
    assert wrong == []
    assert sum(one.answers for one in attackers) > 50
    assert grown < 32 * 2**20


def test_gauges_fall_when_all_clients_vanish(server):
    client = f"""
import http.client, json, time
body = json.dumps({{"messages": [{{"role": "user", "content": "hi"}}], "stream": True,
                    "ignore_eos": True}})
kept = []
for _ in range(64):
    kept.append(http.client.HTTPConnection("127.0.0.1", {server.port}))
    kept[-1].request("POST", "/v1/chat/completions", body)
time.sleep(60)
"""
    process = subprocess.Popen([sys.executable, "-c", client])
    try:
        def busy():
            return sum(http_fuzz.gauge(server, "vllm:num_requests_" + state)
                       for state in ("running", "waiting"))
        wait_for(lambda: busy() == 64, 60, "64 streams are there")
    finally:
        process.kill()
        process.wait()
    # No other request comes: only /metrics is read.
    wait_for(lambda: busy() == 0, 5, "nothing runs or waits")


def start_with_log(stdout, stderr):
    port = free_port()
    process = subprocess.Popen([BIN / "dure", "serve", str(DEMO), "--port", str(port),
                                "--log-requests"], stdout=stdout, stderr=stderr)
    return port, process


def ask(port, times=1):
    for _ in range(times):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("POST", "/v1/chat/completions", BODY, {"X-Request-Id": "log-me"})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        answer.read()
        connection.close()


def wait_healthy(port):
    def healthy():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()
    wait_for(healthy, 60, "the server is ready")


def stop(process, status=0):
    process.terminate()
    assert process.wait(timeout=60) == status


def test_a_request_is_one_line_of_json(tmp_path):
    with open(tmp_path / "log", "wb") as log:
        port, process = start_with_log(log, subprocess.DEVNULL)
        wait_healthy(port)
        ask(port)
        stop(process)
    rows = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()
            if line.startswith("{")]
    row = next(row for row in rows if row["path"] == "/v1/chat/completions")
    assert row["request_id"] == "log-me" and row["status"] == 200
    assert row["outcome"] == "answered" and row["total_s"] > 0


def test_a_full_disk_costs_lines_and_is_said_once(tmp_path):
    with open("/dev/full", "wb") as full, open(tmp_path / "err", "wb") as err:
        port, process = start_with_log(full, err)
        wait_healthy(port)
        ask(port, 20)
        stop(process, status=3)  # of what it printed at start, nothing was written either
    said = (tmp_path / "err").read_text()
    assert said.count("lines of the log are lost: No space left on device") == 1, said


def test_a_log_that_nobody_reads_stops_nobody(tmp_path):
    reader, writer = os.pipe()
    with open(tmp_path / "err", "wb") as err:
        port, process = start_with_log(writer, err)
        os.close(writer)
        wait_healthy(port)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for _ in range(600):  # more lines than a pipe holds
            connection.request("GET", "/version")
            assert connection.getresponse().read()
        connection.close()
        ask(port)
        os.close(reader)
        ask(port, 3)
        stop(process)
    assert (tmp_path / "err").read_text().count("lines of the log are lost") == 1
