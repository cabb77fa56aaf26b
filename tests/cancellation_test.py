"""Clients that leave in the middle: the others' answers stay whole, no step stalls, and nothing of
thousands of requests is kept."""

import http.client
import json
import pathlib
import random
import threading

import pytest

from serving import descendants, recorded_prompts, serving, wait_for

CHATS = [row for row in recorded_prompts() if row.get("messages")]
REQUESTS = 40  # of each client, one after the other


def body_of(row):
    return json.dumps({"model": "demo-moe", "messages": row["messages"], "temperature": 0,
                       "max_tokens": 512, "stream": True})


def leave_or_read(port, row, leave_after):
    """The streamed text, or nothing if the client left after so many pieces."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("POST", "/v1/chat/completions", body_of(row),
                           {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        text, pieces = "", 0
        while line := answer.readline():
            if not line.startswith(b"data: ") or line.startswith(b"data: [DONE]"):
                continue
            chunk = json.loads(line[6:])
            assert "error" not in chunk, chunk
            text += chunk["choices"][0]["delta"].get("content") or ""
            pieces += 1
            if pieces == leave_after:
                return None
        return text
    finally:
        connection.close()


# Caches of 1024 tokens for 16 streams, some of which wait or are admitted as others leave. A step
# that stalls, as where the stages of a pipeline wait for each other, ends the group by the deadline.
@pytest.mark.parametrize("layout", [("--tp", "2", "--pp", "2"), ("--pp", "4")])
def test_who_stays_is_answered_as_recorded(layout):
    with serving(*layout, "--kv-memory", "2MiB", "--deadline", "5") as server:
        whole, left, wrong = [], [], []

        def client(seed):
            draw = random.Random(seed)
            for _ in range(REQUESTS):
                if wrong:
                    return
                row = draw.choice(CHATS)
                leave_after = draw.randint(1, 40) if draw.random() < 0.6 else 0
                try:
                    text = leave_or_read(server.port, row, leave_after)
                except Exception as error:  # pylint: disable=broad-except
                    wrong.append(repr(error))
                    return
                if text is None:
                    left.append(row)
                elif text == row["answer"]:
                    whole.append(row)
                else:
                    wrong.append((text, row["answer"]))

        clients = [threading.Thread(target=client, args=(seed,)) for seed in range(16)]
        for each in clients:
            each.start()
        for each in clients:
            each.join()
        assert wrong == []
        assert len(whole) > 16 and len(left) > 16

        def metric(name):
            lines = server.get("/metrics")[1].splitlines()
            return sum(float(line.rsplit(" ", 1)[1]) for line in lines
                       if line.startswith(name + "{"))

        wait_for(lambda: metric("vllm:num_requests_running") == 0, 10, "nothing runs")
        assert metric("vllm:num_requests_waiting") == 0
        assert metric("vllm:kv_cache_usage_perc") == 0
        assert metric("dure:group_restarts_total") == 0


def resident_bytes(pids):
    return sum(int(line.split()[1]) * 1024
               for pid in pids
               for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
               if line.startswith("VmRSS:"))


def test_thousands_of_requests_leave_nothing_behind():
    with serving("--tp", "2") as server:
        family = [server.process.pid, *descendants(server.process.pid)]
        body = json.dumps({"model": "demo-moe", "prompt": [5, 6, 7], "max_tokens": 1})

        def ask(times):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            for _ in range(times):
                connection.request("POST", "/v1/completions", body,
                                   {"Content-Type": "application/json"})
                answer = connection.getresponse()
                said = answer.read()
                assert answer.status == 200, said
            connection.close()

        ask(500)
        before = resident_bytes(family)
        ask(5000)
        assert resident_bytes(family) - before < 20 * 2**20
