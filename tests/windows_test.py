"""Layers that see only a window: what no query sees any more is given back, so that a cache serves
sequences whose every layer's keys it could not hold, and the answers are those of a large one."""

import json
import pathlib
import random
import shutil
import threading

from serving import DEMO, serving
from survival_test import VOCAB, ask, metric

PAGE = 16
LAYER_TOKEN = 4 * 64 * 2  # bytes: 4 kv heads, keys and values of 32 in bf16


def windowed_demo(folder: pathlib.Path) -> pathlib.Path:
    """The demo model, but that three of its four layers see 100 tokens."""
    model = folder / "demo-moe"
    shutil.copytree(DEMO, model)
    config = json.loads((model / "config.json").read_text())
    config.update(max_position_embeddings=4096, use_sliding_window=True, sliding_window=100,
                  layer_types=["sliding_attention", "full_attention", "sliding_attention",
                               "sliding_attention"])
    (model / "config.json").write_text(json.dumps(config))
    return model


def bodies():
    """Prompts of which many begin alike."""
    draw = random.Random(5)
    shared = [draw.randrange(3, VOCAB) for _ in range(1200)]
    made = []
    for i in range(24):
        length = [30, 150, 600, 1500, 3000][i % 5]
        prompt = shared[:draw.choice([length // 2, length])] if i % 2 else []
        prompt = prompt + [draw.randrange(3, VOCAB) for _ in range(length - len(prompt))]
        made.append({"model": "demo-moe", "prompt": prompt, "max_tokens": draw.choice([8, 150]),
                     "ignore_eos": True, "stream": True, "temperature": 0})
    return made


def answers(model, requests, clients, *flags):
    """All requests twice, by so many clients at once, and what the server counted."""
    with serving("--tp", "2", "--ep", "2", "--max-batch-tokens", "64", *flags,
                 model=model) as server:
        texts = [None] * (2 * len(requests))
        rest = iter(range(len(texts)))
        lock = threading.Lock()

        def client():
            while True:
                with lock:
                    which = next(rest, None)
                if which is None:
                    return
                texts[which] = ask(server.port, requests[which % len(requests)])

        threads = [threading.Thread(target=client) for _ in range(clients)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        counts = {name: metric(server, "vllm:" + name) for name in
                  ("num_preemptions_total", "prefix_cache_hits_total", "kv_cache_usage_perc")}
        return texts, counts


def test_a_cache_too_small_for_all_layers_gives_the_answers_of_a_large_one(tmp_path):
    model = windowed_demo(tmp_path)
    requests = bodies()
    expected, counts = answers(model, requests, 2, "--no-prefix-cache")
    assert None not in expected and expected[:24] == expected[24:]
    assert counts["num_preemptions_total"] == 0
    # Of the longest sequence: all its tokens in one layer, and in three what a step of 64 and its
    # window touch. Four layers of all its tokens would take three times as much.
    longest = max(len(body["prompt"]) + body["max_tokens"] for body in requests)
    pages = -(-longest // PAGE) + 3 * (-(-(99 + 64) // PAGE) + 1)
    texts, counts = answers(model, requests, 6, "--kv-memory",
                            str((pages + 10) * PAGE * LAYER_TOKEN))
    assert texts == expected
    assert counts["num_preemptions_total"] > 0 and counts["prefix_cache_hits_total"] > 0
    assert counts["kv_cache_usage_perc"] == 0
