"""tools/record_answers.py: what it records of an implementation in plain Python, `dure verify` finds
in the model, and what it records of a wrong one, it does not."""

import array
import json
import math
import pathlib
import random
import subprocess
import sys

from serving import BIN

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tools"))
from record_answers import record, write_safetensors  # noqa: E402

HIDDEN, VOCAB, EXPERTS, TOP_K, WIDTH, HEADS, HEAD_DIM = 8, 31, 5, 2, 6, 2, 4
CONFIG = {"model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"], "hidden_size": HIDDEN,
          "intermediate_size": WIDTH, "moe_intermediate_size": WIDTH, "num_hidden_layers": 1,
          "num_attention_heads": HEADS, "num_key_value_heads": 1, "head_dim": HEAD_DIM,
          "num_experts": EXPERTS, "num_experts_per_tok": TOP_K, "norm_topk_prob": True,
          "vocab_size": VOCAB, "rms_norm_eps": 1e-6, "max_position_embeddings": 256,
          "torch_dtype": "float32", "tie_word_embeddings": False}


def write_model(folder):
    """Nothing that attention or experts find out reaches the stream: their last matrices are zero."""
    draw = random.Random(7)
    layer, attention = "model.layers.0.", "model.layers.0.self_attn."
    shapes = {"model.embed_tokens.weight": [VOCAB, HIDDEN],
              layer + "input_layernorm.weight": [HIDDEN],
              attention + "q_proj.weight": [HEADS * HEAD_DIM, HIDDEN],
              attention + "k_proj.weight": [HEAD_DIM, HIDDEN],
              attention + "v_proj.weight": [HEAD_DIM, HIDDEN],
              attention + "o_proj.weight": [HIDDEN, HEADS * HEAD_DIM],
              attention + "q_norm.weight": [HEAD_DIM], attention + "k_norm.weight": [HEAD_DIM],
              layer + "post_attention_layernorm.weight": [HIDDEN],
              layer + "mlp.gate.weight": [EXPERTS, HIDDEN],
              "model.norm.weight": [HIDDEN], "lm_head.weight": [VOCAB, HIDDEN]}
    for expert in range(EXPERTS):
        block = f"{layer}mlp.experts.{expert}."
        shapes |= {block + "gate_proj.weight": [WIDTH, HIDDEN],
                   block + "up_proj.weight": [WIDTH, HIDDEN],
                   block + "down_proj.weight": [HIDDEN, WIDTH]}
    values = {}
    for name, shape in shapes.items():
        silent = "o_proj" in name or "down_proj" in name
        values[name] = [0.0 if silent else draw.gauss(0, 1) for _ in range(math.prod(shape))]
    write_safetensors(folder / "model.safetensors",
                      {name: ("F32", shapes[name], array.array("f", values[name]).tobytes())
                       for name in shapes})
    (folder / "config.json").write_text(json.dumps(CONFIG))
    return values


def normed(row, weight):
    scale = 1 / math.sqrt(sum(x * x for x in row) / len(row) + 1e-6)
    return [x * scale * w for x, w in zip(row, weight)]


def product(matrix, row):
    return [sum(w * x for w, x in zip(matrix[i:i + len(row)], row))
            for i in range(0, len(matrix), len(row))]


def implementation(values):
    def forward(ids):
        logits, experts, weights, margins = [], [], [], []
        for token in ids:
            x = values["model.embed_tokens.weight"][token * HIDDEN:(token + 1) * HIDDEN]
            scores = product(values["model.layers.0.mlp.gate.weight"],
                             normed(x, values["model.layers.0.post_attention_layernorm.weight"]))
            order = sorted(range(EXPERTS), key=lambda e: -scores[e])
            powers = [math.exp(scores[e] - scores[order[0]]) for e in order[:TOP_K]]
            experts.append(order[:TOP_K])
            weights.append([p / sum(powers) for p in powers])
            margins.append(scores[order[TOP_K - 1]] - scores[order[TOP_K]])
            logits.append(product(values["lm_head.weight"], normed(x, values["model.norm.weight"])))
        return logits, [(0, experts, weights, margins)]
    return forward


def verify(folder):
    done = subprocess.run([BIN / "dure", "verify", folder, "--compute", "fp32", "--json"],
                          capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, json.loads(done.stdout)


def test_a_record_is_found_in_its_model(tmp_path):
    values = write_model(tmp_path)
    record(tmp_path, implementation(values), VOCAB)
    status, report = verify(tmp_path)
    assert status == 0, report
    assert len(report["prompts"]) == 4
    facts = json.loads((tmp_path / "case.json").read_text())
    assert facts == {"family": "qwen3_moe", "params_total": sum(map(len, values.values()))}


def test_a_record_without_routes_is_one_of_logits(tmp_path):
    forward = implementation(write_model(tmp_path))
    record(tmp_path, lambda ids: forward(ids)[0], VOCAB)
    assert verify(tmp_path)[0] == 0


def test_a_record_of_another_model_is_not_found(tmp_path):
    values = write_model(tmp_path)
    other = dict(values, **{"lm_head.weight": [-x for x in values["lm_head.weight"]]})
    record(tmp_path, implementation(other), VOCAB)
    assert verify(tmp_path)[0] == 1
