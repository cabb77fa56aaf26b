"""A group that is started again: where its weights come from, and what is left of one that is not."""

import contextlib
import os
import pathlib
import signal
import socket
import threading
import uuid

import pytest

from serving import Server, alive, command_of, descendants, recorded_prompts, serving, wait_for

ROW = next(row for row in recorded_prompts()
           if row.get("messages") and len(row["answer_token_ids"]) > 100)
BODY = {"model": "demo-moe", "messages": ROW["messages"], "temperature": 0, "max_tokens": 512}


def keeper_of(server) -> int:
    return next(pid for pid in descendants(server.process.pid) if command_of(pid) == "dure-keeper")


def answers_as_recorded(server) -> bool:
    status, body, _ = server.post("/v1/chat/completions", BODY)
    return status == 200 and body["choices"][0]["message"]["content"] == ROW["answer"]


def kill_and_await(server, pid: int):
    """Kills a rank, or mpirun, and waits for the ranks' successors to serve."""
    before = server.ranks()
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not any(alive(rank) for rank in before), 5, "the ranks have left")
    wait_for(lambda: len(set(server.ranks()) - set(before)) == len(before), 60, "new ranks start")
    wait_for(server.healthy, 60, "the group is back")


@contextlib.contextmanager
def marked():
    """What is started within, and what that starts, can be found by its environment."""
    mark = f"DURE_TEST_MARK={uuid.uuid4()}"
    name, value = mark.split("=")
    os.environ[name] = value
    try:
        yield lambda: processes_with(mark)
    finally:
        del os.environ[name]


def processes_with(mark: str) -> list[int]:
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if mark.encode() in (entry / "environ").read_bytes() and alive(int(entry.name)):
                found.append(int(entry.name))
    return found


def files_of(pid: int) -> list[str]:
    """Of the groups of a front."""
    return sorted(str(path) for folder in ("/dev/shm", "/tmp")
                  for path in pathlib.Path(folder).glob(f"dure-*-{pid}-*"))


def check_nothing_is_left(server, find):
    """Of a front that was killed: its port is for others, and so is its memory."""
    pid = server.process.pid
    server.process.wait()
    server.process.stdout.close()
    wait_for(lambda: not find(), 5, f"all have left: {[command_of(p) for p in find()]}")
    assert files_of(pid) == []
    with socket.create_server(("127.0.0.1", server.port)):
        pass


@pytest.mark.parametrize("layout", [("--tp", "2", "--ep", "2"), ("--pp", "2", "--dp", "2")])
def test_a_restarted_group_takes_its_weights_from_memory(layout):
    with serving(*layout) as server:
        assert answers_as_recorded(server)
        victims = len(server.ranks())
        for victim in range(victims):
            kill_and_await(server, server.ranks()[victim])
            assert answers_as_recorded(server)
    assert server.output.count("of weights were kept in memory\n") == victims, server.output
    assert "read again" not in server.output


def test_without_its_keeper_a_group_reads_its_weights_again_and_gets_a_new_keeper():
    with serving("--tp", "2") as server:
        old = keeper_of(server)
        os.kill(old, signal.SIGKILL)
        wait_for(lambda: not alive(old), 10, "the keeper is gone")
        assert answers_as_recorded(server)
        kill_and_await(server, server.ranks()[0])
        assert keeper_of(server) != old
        kill_and_await(server, server.ranks()[1])
        assert answers_as_recorded(server)
    assert server.output.count("of weights were read again\n") == 1, server.output
    assert server.output.count("of weights were kept in memory\n") == 1, server.output


def test_a_keeper_that_is_stopped_is_replaced():
    with serving("--tp", "2") as server:
        old = keeper_of(server)
        os.kill(old, signal.SIGSTOP)
        kill_and_await(server, server.ranks()[1])
        assert not alive(old)
        kill_and_await(server, server.ranks()[0])
        assert answers_as_recorded(server)
    assert "was stopped by a signal, and is ended" in server.output
    assert server.output.count("of weights were read again\n") == 1, server.output
    assert server.output.count("of weights were kept in memory\n") == 1, server.output


@pytest.mark.parametrize("moment", ["starting", "serving", "restarting"])
def test_a_killed_front_leaves_nothing_and_a_new_one_starts(moment):
    for _ in range(2):
        with marked() as find:
            server = Server("--tp", "2", "--ep", "2")
            if moment == "starting":
                wait_for(lambda: any(command_of(pid) == "dure-rank" for pid in find()), 60,
                         "ranks are being started")
            else:
                wait_for(server.healthy, 60, "the server is ready")
            if moment == "restarting":
                os.kill(server.ranks()[0], signal.SIGKILL)
                wait_for(lambda: not server.healthy(), 20, "the death is seen")
            os.kill(server.process.pid, signal.SIGKILL)
            check_nothing_is_left(server, find)
    with serving("--tp", "2", "--ep", "2") as server:
        assert answers_as_recorded(server)


def test_a_killed_mpirun_is_started_again_with_the_weights_kept():
    with serving("--tp", "2") as server:
        kill_and_await(server, next(pid for pid in descendants(server.process.pid)
                                    if command_of(pid) == "mpirun"))
        assert answers_as_recorded(server)
    assert server.output.count("of weights were kept in memory\n") == 1, server.output


def test_front_and_keeper_killed_together_leave_nothing():
    with marked() as find:
        server = Server("--tp", "2")
        wait_for(server.healthy, 60, "the server is ready")
        keeper = keeper_of(server)
        os.kill(keeper, signal.SIGSTOP)  # it cannot see its parent die; the kernel does
        os.kill(server.process.pid, signal.SIGKILL)
        check_nothing_is_left(server, find)
    assert not alive(keeper)


@pytest.mark.parametrize("victim", [0, 1])
@pytest.mark.parametrize("busy", [False, True])
def test_a_stopped_rank_is_found_within_seconds_and_replaced(victim, busy):
    with serving("--tp", "2", "--ep", "2") as server:
        ranks = server.ranks()
        os.kill(ranks[victim], signal.SIGSTOP)
        if busy:
            asking = threading.Thread(
                target=lambda: server.post("/v1/chat/completions", BODY, timeout=60))
            asking.start()
        wait_for(lambda: not any(alive(rank) for rank in ranks), 10, "the stopped group has left")
        wait_for(lambda: len(server.ranks()) == 2, 60, "new ranks start")
        wait_for(server.healthy, 60, "the group is back")
        if busy:
            asking.join(timeout=60)
        assert answers_as_recorded(server)
    assert f"rank {victim} (pid {ranks[victim]} on " in server.output
    assert "has been stopped" in server.output
    assert "of weights were kept in memory" in server.output


def test_the_death_of_a_rank_is_told_with_its_host_and_place():
    with serving("--tp", "2", "--ep", "2") as server:
        victim = server.ranks()[1]
        kill_and_await(server, victim)
    assert f"rank 1 (pid {victim} on {socket.gethostname()}) was killed by signal 9" in server.output
    assert "between steps" in server.output
