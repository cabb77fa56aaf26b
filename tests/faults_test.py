"""Ranks and fronts that die: what clients see, and what is left behind (nothing)."""

import json
import os
import pathlib
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


def test_a_killed_rank_fails_its_requests_at_once_and_the_group_comes_back():
    with serving("--tp", "2", "--ep", "2") as server:
        assert server.post("/v1/chat/completions", BODY)[1]["choices"][0]["message"][
            "content"] == ROW["answer"]
        for victim in range(2):
            ranks = server.ranks()
            assert len(ranks) == 2
            answers = []

            def ask_until_told():
                # The demo answers in a blink: ask again and again, until the death is seen.
                while not answers or answers[-1][0] == 200:
                    answers.append(server.post("/v1/chat/completions", BODY, timeout=30))

            asking = threading.Thread(target=ask_until_told)
            asking.start()
            wait_for(lambda: answers, 30, "requests are being answered")
            killed = time.monotonic()
            os.kill(ranks[victim], signal.SIGKILL)
            asking.join(timeout=30)
            assert not asking.is_alive()
            status, body, _ = answers[-1]
            assert status == 503, body
            assert f"rank {victim} " in body["error"]["message"], body
            assert "Killed" in body["error"]["message"], body
            assert "mpirun" not in body["error"]["message"], body
            assert time.monotonic() - killed < 5.0  # the bound that operators were promised
            wait_for(server.healthy, 60, "the group is back")
            assert not any(alive(rank) for rank in ranks)
            again = server.post("/v1/chat/completions", BODY)[1]
            assert again["choices"][0]["message"]["content"] == ROW["answer"]
        assert "dure:group_restarts_total" in server.get("/metrics")[1]


def test_a_stream_cut_by_a_death_ends_with_an_error_event():
    with serving("--tp", "2") as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
            body = json.dumps({**BODY, "stream": True, "ignore_eos": True,
                               "max_tokens": 1900}).encode()
            connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"
                               b"Content-Type: application/json\r\nContent-Length: "
                               + str(len(body)).encode() + b"\r\n\r\n" + body)
            received = connection.recv(4096)
            while b"data: " not in received:
                received += connection.recv(4096)
            os.kill(server.ranks()[1], signal.SIGKILL)
            while part := connection.recv(65536):
                received += part
                if b"[DONE]" in part or b'"error"' in part:
                    break
        assert b'"error"' in received


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
        status, body, _ = server.post("/v1/chat/completions", BODY, timeout=30)
        assert status == 503
        wait_for(server.healthy, 60, "the group is back")
    assert "rank 1" in server.output and "step" in server.output


def test_a_server_outlives_the_reader_of_its_log():
    with serving("--tp", "2") as server:
        server.process.stdout.close()
        server.process.stdout = None
        ranks = server.ranks()
        os.kill(ranks[1], signal.SIGKILL)  # which it warns of
        wait_for(lambda: 'dure:group_restarts_total{model_name="demo-moe"} 1'
                 in server.get("/metrics")[1], 60, "the group is started again")
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
