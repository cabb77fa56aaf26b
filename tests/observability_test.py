"""What whoever runs a server sees of it: /metrics, the dashboard, the event log and the trace."""

import collections
import json
import os
import pathlib
import re
import signal
import socket

import pytest
from prometheus_client.parser import text_string_to_metric_families

from serving import Server, recorded_prompts, serving, wait_for

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROW = next(row for row in recorded_prompts()
           if row.get("messages") and len(row["answer_token_ids"]) > 100)
BODY = {"model": "demo-moe", "messages": ROW["messages"], "temperature": 0, "max_tokens": 64}
LAYOUT = ("--tp", "2", "--ep", "2", "--dp", "2")  # 4 ranks


def families(server):
    found = {}
    for family in text_string_to_metric_families(server.get("/metrics")[1]):
        assert family.name not in found, f"{family.name} is there twice"
        found[family.name] = family
    return found


def samples(server):
    """The value of each sample, by name and labels; a series that is there twice is an error."""
    values = {}
    for family in families(server).values():
        for sample in family.samples:
            key = (sample.name, *sorted(sample.labels.items()))
            assert key not in values, key
            values[key] = sample.value
    return values


def total(values, name, **labels):
    return sum(value for (key, *pairs), value in values.items()
               if key == name and labels.items() <= dict(pairs).items())


def ask(server, body=BODY):
    status, answer, _ = server.post("/v1/chat/completions", body)
    assert status == 200, answer
    return answer


def kill_a_rank(server, rank):
    restarts = total(samples(server), "dure:group_restarts_total")
    os.kill(server.ranks()[rank], signal.SIGKILL)
    wait_for(lambda: total(samples(server), "dure:group_restarts_total") > restarts, 60, "a restart")
    wait_for(server.healthy, 60, "the group is back")


def test_metrics_are_prometheus_text_and_counters_outlive_a_restart():
    with serving(*LAYOUT) as server:
        ask(server)
        wait_for(lambda: total(samples(server), "vllm:generation_tokens_total") > 0, 10, "tokens")
        before = samples(server)
        kinds = {family.name: family.type for family in families(server).values()}
        assert all(dict(pairs).get("model_name") == "demo-moe" for _, *pairs in before)

        # Each rank, each operation, each expert.
        ranks = {str(rank) for rank in range(4)}
        for name in ("dure:collective_bytes_total", "dure:collective_wait_seconds_total",
                     "dure:rank_seconds_total", "dure:expert_tokens_total"):
            found = {dict(pairs)["rank"] for key, *pairs in before if key == name}
            assert found == ranks, name
        assert total(before, "dure:collective_bytes_total", op="all_to_all") > 0
        assert total(before, "dure:collective_bytes_total", op="all_reduce") > 0
        assert total(before, "dure:rank_seconds_total", part="attention") > 0
        assert total(before, "dure:step_seconds_count", phase="decode") >= 60
        assert total(before, "dure:step_seconds_count", phase="prefill") >= 1
        ratios = [value for (key, *_), value in before.items()
                  if key == "dure:expert_imbalance_ratio"]
        assert ratios and all(1 <= ratio <= 4 for ratio in ratios)
        # One token's slots are the same in every layer, and experts share them without loss.
        by_layer = collections.Counter()
        for (key, *pairs), value in before.items():
            if key == "dure:expert_tokens_total":
                by_layer[dict(pairs)["layer"]] += value
        assert len(set(by_layer.values())) == 1 and len(by_layer) == len(ratios)

        kill_a_rank(server, 2)
        after = samples(server)
        assert total(after, "dure:group_restarts_total", cause="killed") == 1
        counters = [name for name, kind in kinds.items() if kind in ("counter", "histogram")]
        for key, value in before.items():
            if any(key[0].startswith(name) for name in counters):
                assert after.get(key, -1) >= value, key
        ask(server)
        wait_for(lambda: total(samples(server), "dure:collective_bytes_total")
                 > total(after, "dure:collective_bytes_total"), 10, "the new ranks count on")


@pytest.mark.parametrize("choice, labels", [("experts", {"model_name", "layer", "expert", "rank"}),
                                            ("ranks", {"model_name", "rank"})])
def test_series_of_experts_can_be_left_out(choice, labels):
    with serving("--tp", "2", "--expert-metrics", choice,
                 "--served-model-name", 'a "b"\\c\n{d="e"} 1') as server:
        found = samples(server)  # read back by the parser in spite of the name
        tokens = [dict(pairs) for key, *pairs in found if key == "dure:expert_tokens_total"]
        assert tokens and all(set(each) == labels for each in tokens)
        assert tokens[0]["model_name"] == 'a "b"\\c\n{d="e"} 1'
        assert any(key == "dure:expert_imbalance_ratio" for key, *_ in found)


NAME = re.compile(r"\b(?:vllm|dure):[a-z0-9_]+")


def test_the_dashboard_asks_only_for_what_the_server_tells():
    dashboard = json.loads((ROOT / "docs/grafana-dashboard.json").read_text(encoding="utf-8"))
    assert {each["name"] for each in dashboard["templating"]["list"]} == {"datasource", "model_name"}
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    asked = set()
    for panel in panels:
        assert panel["datasource"]["uid"] == "${datasource}"
        for target in panel["targets"]:
            names = NAME.findall(target["expr"])
            assert names and target["expr"].count('model_name=~"$model_name"') == len(names)
            asked.update(names)
    asked.update(NAME.findall(json.dumps([dashboard["templating"], dashboard["annotations"]])))
    documented = set(NAME.findall((ROOT / "docs/operations.md").read_text(encoding="utf-8")))
    with serving("--tp", "2") as server:
        ask(server)
        told = {sample.name for family in families(server).values() for sample in family.samples}
        names = {re.sub(r"_(bucket|sum|count)$", "", name)
                 if family.type == "histogram" else name
                 for family in families(server).values()
                 for name in {sample.name for sample in family.samples}}
    assert asked <= told, asked - told
    assert names <= documented, names - documented
    assert documented <= names, documented - names
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
    assert len(set(places)) == len(places)


def json_lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_every_line_of_a_json_log_is_json_and_names_who_died_where():
    with serving(*LAYOUT, "--log-format", "json") as server:
        victim = server.ranks()[1]
        with socket.create_connection(("127.0.0.1", server.port)) as stream:
            body = json.dumps({**BODY, "max_tokens": 512, "stream": True}).encode()
            stream.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: "
                           + str(len(body)).encode() + b"\r\n\r\n" + body)
            stream.settimeout(60)
            assert b"200 OK" in stream.recv(4096)
            kill_a_rank(server, 1)
            ask(server)
    lines = json_lines(server.output)
    for line in lines:
        assert list(line)[:4] == ["time", "level", "event", "message"]
    events = {line["event"]: line for line in lines}
    assert {"serving", "group_died", "group_restarted", "stopping"} <= set(events)
    died = events["group_died"]
    assert died["level"] == "error" and died["cause"] == "killed"
    assert died["rank"] == 1 and died["pid"] == victim
    assert died["host"] == socket.gethostname()
    assert events["group_restarted"]["kept_bytes"] == events["group_restarted"]["weight_bytes"] > 0
    if "step" in died:  # it was not killed between steps
        assert died["step"] > 0 and events["requests_replayed"]["requests"] >= 1


def test_what_a_start_fails_of_is_a_line_of_json_too():
    server = Server("--tp", "3", "--ep", "2", "--log-format", "json")
    output, _ = server.process.communicate(timeout=60)
    (line,) = json_lines(output)
    assert server.process.returncode in (1, 2) and line["level"] == "error" and line["hint"]


def spans_of(events):
    """Of each track: (begin, end, name), in ns."""
    tracks = collections.defaultdict(list)
    for event in events:
        if event["ph"] != "X":
            continue
        begin = round(event["ts"] * 1000)
        tracks[event["pid"], event["tid"]].append(
            (begin, begin + round(event["dur"] * 1000), event["name"]))
    return tracks


def check_nesting(spans):
    """Spans of one track lie within one another or beside one another."""
    open_ = []
    for begin, end, name in sorted(spans, key=lambda span: (span[0], -span[1])):
        while open_ and open_[-1][1] <= begin:
            open_.pop()
        assert not open_ or end <= open_[-1][1], (name, open_[-1])
        open_.append((begin, end, name))


@pytest.mark.parametrize("flags", [LAYOUT, ("--pp", "2", "--tp", "2")])
def test_a_trace_holds_every_rank_and_survives_a_killed_one(tmp_path, flags):
    path = tmp_path / "trace.json"
    with serving(*flags, "--trace", str(path)) as server:
        ask(server)
        kill_a_rank(server, 1)
        json.loads(path.read_text(encoding="utf-8"))  # whole while the server runs
        ask(server)
    trace = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    titles = {event["pid"]: event["args"]["name"] for event in trace
              if event["name"] == "process_name"}
    ranks = {pid for pid, title in titles.items() if title.startswith("rank ")}
    assert sorted(titles[pid].split(" on ")[0] for pid in ranks) == [f"rank {r}" for r in range(4)]
    tracks = spans_of(trace)
    for spans in tracks.values():
        check_nesting(spans)
    for pid in ranks:
        names = {name for _, _, name in tracks[pid, 1]}
        assert {"step", "attention", "mixture of experts", "experts", "router"} <= names
        assert any(name.startswith("all-") or name.startswith("stage") for name in names)
        # The last step's spans came, too, and lie within what the server saw of it.
        steps = {event["args"]["step"] for event in trace
                 if event["ph"] == "X" and event["pid"] == pid and event["name"] == "step"}
        served = {event["args"]["step"]: event for event in trace
                  if event["ph"] == "X" and titles[event["pid"]] == "dure serve"}
        assert max(steps) == max(served)
    last = served[max(served)]
    for event in trace:
        if event["ph"] == "X" and event["pid"] in ranks and event["args"]["step"] == max(served):
            if event["name"] != "step":
                assert event["ts"] >= last["ts"]
    marks = [event["name"] for event in trace if event["ph"] == "i"]
    assert "group_died" in marks and "group_restarted" in marks


def test_a_trace_without_room_is_said_in_one_line(tmp_path):
    path = tmp_path / "trace.json"
    with serving("--trace", str(path), "--trace-size", "64KiB") as server:
        ask(server)
    assert path.stat().st_size <= 65536
    json.loads(path.read_text(encoding="utf-8"))
    said = [line for line in server.output.splitlines() if "trace" in line]
    assert said == [f"warning: the trace {path} ends here: it is as large as it may become (64.00 KiB)"]


def test_a_trace_that_cannot_be_written_is_refused_at_once(tmp_path):
    server = Server("--trace", str(tmp_path / "no" / "trace.json"))
    output, _ = server.process.communicate(timeout=60)
    assert server.process.returncode == 2 and "No such file or directory" in output
