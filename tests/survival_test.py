"""Ranks killed again and again under a full load of mixed prompts, some of whose clients leave:
every stream that stays ends with exactly the tokens of an undisturbed run, and nothing is left.
`make test-faults` runs it at length, `make test` for a few deaths."""

import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import threading
import time

from serving import DEMO, alive, descendants, serving, wait_for

STREAMS = int(os.environ.get("DURE_SURVIVAL_STREAMS", "24"))
DEATHS = int(os.environ.get("DURE_SURVIVAL_DEATHS", "3"))
BETWEEN = float(os.environ.get("DURE_SURVIVAL_BETWEEN", "4"))  # seconds, from death to death
VOCAB = 2048


def longer_demo(folder: pathlib.Path) -> pathlib.Path:
    """The demo model, allowed contexts that its prompts of 3,000 tokens need."""
    model = folder / "demo-moe"
    shutil.copytree(DEMO, model)
    config = json.loads((model / "config.json").read_text())
    config["max_position_embeddings"] = 4096
    (model / "config.json").write_text(json.dumps(config))
    return model


def bodies():
    """Requests of all kinds; each is asked again and again."""
    draw = random.Random(7)
    shared = [draw.randrange(3, VOCAB) for _ in range(600)]
    made = []
    for i in range(48):
        length = draw.choice([20, 50, 120, 400, 1000, 3000])
        prompt = shared[:length // 2] if i % 3 == 0 else []
        prompt = prompt + [draw.randrange(3, VOCAB) for _ in range(length - len(prompt))]
        body = {"model": "demo-moe", "prompt": prompt, "max_tokens": draw.choice([16, 64, 300]),
                "ignore_eos": True, "stream": True, "temperature": 0}
        if i % 2:
            body.update(temperature=0.9, top_p=0.95, seed=i)
        made.append(body)
    return made


def ask(port, body, leave_after=0):
    """The streamed text, or nothing if the client left after so many pieces."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=240)
    try:
        connection.request("POST", "/v1/completions", json.dumps(body),
                           {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        text, pieces, ended = "", 0, False
        while line := answer.readline():
            if line.startswith(b"data: [DONE]"):
                ended = True
            elif line.startswith(b"data: "):
                chunk = json.loads(line[6:])
                assert "error" not in chunk, chunk
                text += "".join(choice["text"] for choice in chunk["choices"])
                pieces += 1
                if pieces == leave_after:
                    return None
        assert ended, "the stream was cut"
        return text
    finally:
        connection.close()


def metric(server, name):
    lines = server.get("/metrics")[1].splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name + "{"))


def descriptors(pid):
    return len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))


def test_every_stream_that_stays_ends_as_if_nobody_had_died(tmp_path):
    requests = bodies()
    with serving("--tp", "2", "--ep", "2", "--max-requests", str(4 * STREAMS),
                 model=longer_demo(tmp_path)) as server:
        expected = [ask(server.port, body) for body in requests]
        before = descriptors(server.process.pid)
        whole, left, wrong = [], [], []
        over = threading.Event()

        def client(seed):
            draw = random.Random(seed)
            while not over.is_set() and not wrong:
                which = draw.randrange(len(requests))
                leave_after = draw.randint(1, 20) if draw.random() < 0.2 else 0
                try:
                    text = ask(server.port, requests[which], leave_after)
                except Exception as error:  # pylint: disable=broad-except
                    wrong.append(repr(error))
                    return
                if text is None:
                    left.append(which)
                elif text == expected[which]:
                    whole.append(which)
                else:
                    wrong.append((which, text, expected[which]))

        clients = [threading.Thread(target=client, args=(seed,)) for seed in range(STREAMS)]
        for each in clients:
            each.start()
        draw = random.Random(11)
        victims = []
        for death in range(DEATHS):
            end = time.monotonic() + BETWEEN  # the load's rhythm; nothing is judged by it
            wait_for(lambda: time.monotonic() >= end and len(server.ranks()) == 2, 60 + BETWEEN,
                     "the ranks are there")
            ranks = server.ranks()
            victims.extend(ranks)
            os.kill(draw.choice(ranks), signal.SIGKILL)
            wait_for(lambda: metric(server, "dure:group_restarts_total") > death, 60,
                     "the death is found")
        over.set()
        for each in clients:
            each.join()
        assert not wrong, wrong[0]
        assert len(whole) >= STREAMS and left
        assert metric(server, "vllm:request_success_total") >= len(whole)
        wait_for(lambda: metric(server, "vllm:num_requests_running") == 0, 20, "nothing runs")
        assert metric(server, "vllm:num_requests_waiting") == 0
        assert metric(server, "vllm:kv_cache_usage_perc") == 0
        assert metric(server, "dure:group_restarts_total") == DEATHS
        assert not any(alive(pid) for pid in victims)
        wait_for(lambda: descriptors(server.process.pid) <= before + 2, 20, "sockets are closed")
        owner = server.process.pid
        print(f"{len(whole)} streams whole, {len(left)} left, {DEATHS} deaths, "
              f"{metric(server, 'dure:replayed_tokens_total'):.0f} tokens computed again")
        family = [owner, *descendants(owner)]
    assert not any(alive(pid) for pid in family)
    for folder in ("/dev/shm", "/tmp"):
        assert not list(pathlib.Path(folder).glob(f"dure-*-{owner}-*"))


def test_prompts_that_begin_alike_are_computed_once(tmp_path):
    """150 groups of 5 prompts that share 1,500 tokens: at least 75% comes from the cache, and the
    answers are those of a server without one."""
    draw = random.Random(3)
    prompts = []
    for _ in range(int(os.environ.get("DURE_PREFIX_GROUPS", "12"))):
        common = [draw.randrange(3, VOCAB) for _ in range(1500)]
        prompts += [common + [draw.randrange(3, VOCAB) for _ in range(30)] for _ in range(5)]
    bodies = [{"model": "demo-moe", "prompt": prompt, "max_tokens": 4, "ignore_eos": True,
               "stream": True, "temperature": 0} for prompt in prompts]
    model = longer_demo(tmp_path)

    def answers(*flags):
        with serving("--tp", "2", "--ep", "2", *flags, model=model) as server:
            texts = [None] * len(bodies)
            rest = iter(range(len(bodies)))

            def client():
                for which in rest:
                    texts[which] = ask(server.port, bodies[which])

            clients = [threading.Thread(target=client) for _ in range(8)]
            for each in clients:
                each.start()
            for each in clients:
                each.join()
            return (texts, metric(server, "vllm:prefix_cache_hits_total"),
                    metric(server, "vllm:prefix_cache_queries_total"))

    cached, hits, queries = answers()
    assert queries == sum(len(prompt) for prompt in prompts)
    assert hits / queries >= 0.75, f"{hits / queries:.1%}"
    computed, none, _ = answers("--no-prefix-cache")
    assert none == 0
    assert cached == computed
    print(f"{hits / queries:.1%} of {queries:.0f} prompt tokens from the cache")
