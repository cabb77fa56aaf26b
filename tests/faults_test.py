"""Ranks and fronts that die: what clients see, and what is left behind (nothing)."""

import json
import os
import pathlib
import resource
import signal
import socket
import threading
import time

from serving import alive, descendants, recorded_prompts, serving, wait_for

ROW = next(row for row in recorded_prompts()
           if row.get("messages") and len(row["answer_token_ids"]) > 100)
BODY = {"model": "demo-moe", "messages": ROW["messages"], "temperature": 0, "max_tokens": 512}


def leftovers():
    """Folders of groups (dure-<user>-<pid>-...) whose owner is dead: a live one belongs to others."""
    return sorted(str(path) for folder in ("/dev/shm", "/tmp")
                  for path in pathlib.Path(folder).glob("dure-*-*-*")
                  if path.name.split("-")[2].isdigit() and not alive(int(path.name.split("-")[2])))


def test_a_killed_rank_is_not_the_clients_problem():
    with serving("--tp", "2", "--ep", "2") as server:
        assert server.post("/v1/chat/completions", BODY)[1]["choices"][0]["message"][
            "content"] == ROW["answer"]
        for victim in range(2):
            ranks = server.ranks()
            assert len(ranks) == 2
            answers = []
            over = threading.Event()

            def keep_asking():
                # The demo answers in a blink: ask again and again, through the death.
                while not over.is_set():
                    answers.append(server.post("/v1/chat/completions", BODY, timeout=60))

            asking = threading.Thread(target=keep_asking)
            asking.start()
            wait_for(lambda: answers, 30, "requests are being answered")
            os.kill(ranks[victim], signal.SIGKILL)
            wait_for(lambda: server.metric("dure:group_restarts_total") == victim + 1, 60,
                     "the death is found")
            wait_for(server.healthy, 60, "the group is back")
            before = len(answers)
            wait_for(lambda: len(answers) > before + 1, 60, "requests are answered again")
            over.set()
            asking.join(timeout=60)
            assert not asking.is_alive()
            for status, body, _ in answers:
                assert status == 200, body
                assert body["choices"][0]["message"]["content"] == ROW["answer"]
            assert not any(alive(rank) for rank in ranks)
    for rank in range(2):
        assert f"rank {rank} " in server.output, server.output
    assert "Killed" in server.output and "mpirun" not in server.output


def read_stream(server, body, on_first=lambda: None):
    """The text of a streamed answer, which must end as it should."""
    text = ""
    with socket.create_connection(("127.0.0.1", server.port), timeout=120) as connection:
        encoded = json.dumps({**body, "stream": True}).encode()
        connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"
                           b"Content-Type: application/json\r\nContent-Length: "
                           + str(len(encoded)).encode() + b"\r\n\r\n" + encoded)
        received = b""
        while b"[DONE]" not in received:
            part = connection.recv(65536)
            assert part, received[-500:]
            if b"data: " not in received and b"data: " in received + part:
                on_first()
            received += part
    for line in received.decode().splitlines():
        if line.startswith("data: {"):
            data = json.loads(line[6:])
            assert "error" not in data, data
            for choice in data["choices"]:
                text += choice["delta"].get("content") or ""
    return text


def test_a_stream_goes_on_through_deaths_with_the_same_tokens():
    body = {**BODY, "ignore_eos": True, "max_tokens": 1500, "temperature": 0.8, "seed": 5}
    with serving("--tp", "2") as server:
        undisturbed = read_stream(server, body)
        for _ in range(2):
            text = read_stream(server, body, lambda: os.kill(server.ranks()[1], signal.SIGKILL))
            assert text == undisturbed
            wait_for(server.healthy, 60, "the group is back")
        replayed = [line for line in server.get("/metrics")[1].splitlines()
                    if line.startswith("dure:replayed_tokens_total")]
        assert replayed and float(replayed[0].rsplit(" ", 1)[1]) > 0, replayed


def test_ranks_leave_when_the_front_is_killed():
    with serving("--tp", "2", "--pp", "2") as server:
        family = descendants(server.process.pid)
        assert len(server.ranks()) == 4
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait()
        wait_for(lambda: not any(alive(pid) for pid in family), 5, "every rank has left")
        with socket.create_server(("127.0.0.1", server.port)):
            pass  # the port is free again
        server.process.stdout.close()
        server.process.stdout = None
    # The next server cleans up what a killed one could not.
    with serving("--tp", "2") as server:
        assert server.healthy()
    assert leftovers() == []


def test_sigterm_finishes_what_is_running():
    with serving("--tp", "2") as server:
        answers = []
        asking = threading.Thread(
            target=lambda: answers.append(server.post("/v1/chat/completions", BODY, timeout=30)))
        asking.start()
        wait_for(lambda: "vllm:num_requests_running" in server.get("/metrics")[1] and
                 (answers or 'num_requests_running{model_name="demo-moe"} 1'
                  in server.get("/metrics")[1]), 30, "the request runs or has ended")
        server.process.send_signal(signal.SIGTERM)
        asking.join(timeout=30)
        assert answers[0][0] == 200
        assert answers[0][1]["choices"][0]["message"]["content"] == ROW["answer"]
        server.process.wait(timeout=30)
    assert server.process.returncode == 0, server.output
    assert leftovers() == []


def test_a_frozen_rank_is_found_by_the_deadline():
    with serving("--tp", "2", "--deadline", "3") as server:
        os.kill(server.ranks()[1], signal.SIGSTOP)
        status, body, _ = server.post("/v1/chat/completions", BODY, timeout=60)
        assert status == 200, body
        assert body["choices"][0]["message"]["content"] == ROW["answer"]
        assert server.healthy()
    assert "rank 1" in server.output and "step" in server.output


def test_ranks_that_get_no_more_memory_go_on():
    """All that a step needs is there from the start: where the system has nothing more to give, who
    serves is not the one that fails."""
    bodies = [{"model": "demo-moe", "prompt": [(i * j * 7 + j) % 2000 + 3 for j in range(1900)],
               "max_tokens": 20, "temperature": 0.8, "seed": i, "ignore_eos": True,
               "frequency_penalty": 0.2, "logprobs": 20, "prompt_logprobs": 20} for i in range(8)]
    with serving("--tp", "2", "--ep", "2") as server:
        expected = [server.post("/v1/completions", body)[1]["choices"] for body in bodies]
        for rank in server.ranks():
            resource.prlimit(rank, resource.RLIMIT_AS, (1 << 20, 1 << 20))
            resource.prlimit(rank, resource.RLIMIT_DATA, (1 << 20, 1 << 20))
        answers = [None] * len(bodies)

        def ask(which):
            answers[which] = server.post("/v1/completions", bodies[which], timeout=100)[1]["choices"]

        asking = [threading.Thread(target=ask, args=(i,)) for i in range(len(bodies))]
        for each in asking:
            each.start()
        for each in asking:
            each.join()
        assert answers == expected
        assert server.metric("dure:group_restarts_total") == 0


def test_a_server_outlives_the_reader_of_its_log():
    with serving("--tp", "2") as server:
        server.process.stdout.close()
        server.process.stdout = None
        ranks = server.ranks()
        os.kill(ranks[1], signal.SIGKILL)  # which it warns of
        wait_for(lambda: server.metric("dure:group_restarts_total") == 1, 60,
                 "the group is started again")
        wait_for(server.healthy, 60, "the group is back")
        answer = server.post("/v1/chat/completions", BODY)[1]
        assert answer["choices"][0]["message"]["content"] == ROW["answer"]


def test_an_idle_group_sleeps():
    def cpu_seconds(pids):
        ticks = 0
        for pid in pids:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    with serving("--tp", "2", "--pp", "2", "--ep", "2") as server:
        pids = [server.process.pid, *descendants(server.process.pid)]
        time.sleep(1)  # the measured time is idle time, so the length of this wait decides nothing
        before, start = cpu_seconds(pids), time.monotonic()
        time.sleep(4)
        share = (cpu_seconds(pids) - before) / (time.monotonic() - start)
    assert share < 0.03, f"an idle server used {share:.1%} of a core"
