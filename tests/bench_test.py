"""`dure bench` against `dure serve` of the demo model: every kind of load, its files and its numbers."""

import csv
import json
import signal
import subprocess

import pytest

from serving import BIN, DEMO, serving, wait_for


@pytest.fixture(scope="module")
def server():
    with serving("--tp", "2") as running:
        yield running


def bench(server, *flags, status=0):
    """The command's JSON."""
    done = subprocess.run([BIN / "dure", "bench", server.base, "--json", *flags], text=True,
                          capture_output=True, timeout=300, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    assert done.stderr == ""  # no progress line where nobody looks
    return json.loads(done.stdout)


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_closed_loop_counts_what_the_server_counts(server, tmp_path):
    table, everything = tmp_path / "requests.csv", tmp_path / "all.json"
    report = bench(server, "--concurrency", "8", "--requests", "40", "--input", "20..300",
                   "--output", "4..12", "--ignore-eos", "--warmup", "4", "--goodput",
                   "ttft:1min,tpot:1min", "--csv", str(table), "--save", str(everything))
    assert report["model"] == "demo-moe" and report["concurrency"] == 8
    assert report["completed"] == 40 and report["failed"] == 0 and report["errors"] == []
    assert report["prompts_as"] == "ids" and report["tokens_counted_by"] == "usage"
    assert report["goodput"]["requests"] == 40
    assert report["mean_in_flight"] <= 8
    rows = rows_of(table)
    assert len(rows) == 40
    # Token ids are as many as were asked, and so is an answer that cannot end early.
    assert all(row["input_tokens"] == row["asked_input_tokens"] for row in rows)
    assert all(row["output_tokens"] == row["asked_output_tokens"] for row in rows)
    assert report["input_tokens"] == sum(int(row["input_tokens"]) for row in rows)
    assert report["output_tokens"] == sum(int(row["output_tokens"]) for row in rows)
    for row in rows:
        times = [float(row[key]) for key in ("scheduled_s", "sent_s", "first_token_s", "last_token_s",
                                             "end_s")]
        assert times == sorted(times)
    for key in ("ttft_s", "tpot_s", "itl_s", "e2e_s"):
        found = report[key]
        assert 0 < found["p50"] <= found["p90"] <= found["p95"] <= found["p99"] <= found["max"]
    saved = json.loads(everything.read_text())
    assert {**saved, "records": None} == {**report, "records": None}
    assert sum(len(record["arrivals_s"]) for record in saved["records"]) == report["chunks"]


def test_open_loop_keeps_its_schedule(server, tmp_path):
    schedules = []
    for name in ("one.csv", "two.csv"):
        report = bench(server, "--rate", "40", "--requests", "60", "--input", "64", "--output", "4",
                       "--seed", "7", "--csv", str(tmp_path / name))
        assert report["completed"] == 60 and report["rate"] == 40
        rows = sorted(rows_of(tmp_path / name), key=lambda row: int(row["number"]))
        schedules.append([row["scheduled_s"] for row in rows])
    assert schedules[0] == schedules[1]


def test_all_at_once_is_more_than_a_closed_loop(server):
    report = bench(server, "--rate", "inf", "--requests", "64", "--input", "32", "--output", "16",
                   "--ignore-eos")
    assert report["completed"] == 64 and report["mean_in_flight"] > 8


def test_shared_prefixes(server):
    report = bench(server, "--shared-prefix", "6x5x200", "--input", "10..30", "--output", "4",
                   "--concurrency", "4")
    assert report["completed"] == 30  # groups × prompts
    assert 30 * 210 <= report["input_tokens"] <= 30 * 230


def test_chats_and_a_file_of_prompts(server):
    report = bench(server, "--endpoint", "chat", "--prompts", str(DEMO / "prompts.jsonl"),
                   "--concurrency", "8", "--temperature", "0", "--output", "200")
    assert report["completed"] == report["requests"] > 16
    assert report["prompts_as"] == "text"
    drawn = bench(server, "--endpoint", "chat", "--requests", "10", "--input", "100", "--output", "4")
    assert drawn["completed"] == 10
    assert 700 <= drawn["input_tokens"] <= 1500  # words only come near the asked length


def test_a_trace_a_background_and_cancels(server, tmp_path):
    trace = tmp_path / "trace.jsonl"
    trace.write_text("".join(json.dumps({"timestamp": 20 * i, "input_length": 40 + i,
                                         "output_length": 5, "hash_ids": [0]}) + "\n"
                             for i in range(20)))
    table = tmp_path / "requests.csv"
    report = bench(server, "--trace", str(trace), "--cancel-fraction", "0.4", "--background",
                   "concurrency=1,input=900,output=4", "--ignore-eos", "--csv", str(table))
    assert report["completed"] + report["cancelled"] == 20
    assert report["cancelled"] > 0
    assert report["background"]["requests"] >= 1 and report["background"]["failed"] == 0
    rows = rows_of(table)
    assert len([row for row in rows if row["load"] == "main"]) == 20
    assert len(rows) == 20 + report["background"]["requests"]


def test_a_prompt_that_the_server_refuses_is_a_failure_with_its_words(server):
    report = bench(server, "--requests", "3", "--input", "5000", "--output", "4", status=1)
    assert report["failed"] == 3
    (error,) = report["errors"]
    assert error["status"] == 400 and error["count"] == 3
    assert "2048" in error["example"].replace(",", "")


def test_an_interrupt_gives_the_numbers_so_far(server):
    process = subprocess.Popen([BIN / "dure", "bench", server.base, "--json", "--concurrency", "2",
                                "--requests", "100000", "--output", "8"], stdout=subprocess.PIPE,
                               text=True)

    def served():
        metrics = server.get("/metrics")[1]
        running = [line for line in metrics.splitlines()
                   if line.startswith("vllm:num_requests_running")]
        return any(float(line.rsplit(" ", 1)[1]) > 0 for line in running)

    wait_for(served, 30, "the load has begun")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    report = json.loads(out)
    assert process.returncode == 0
    assert report["stopped"] and report["interrupted"] >= 1 and report["failed"] == 0
