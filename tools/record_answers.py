"""Records what a model answers, in the form that `dure verify` and the tests read.

The answers come from an implementation that you trust, which must not be Dure: a program of yours
imports this file and hands it one function.

    from record_answers import record
    record("testdata/models/new-family", forward, vocab=331)

forward(ids) takes a list of n token ids and returns fp32 logits [n][vocab], or (logits, routes).
`routes` are those of the mixtures, one (layer, experts [n][k], weights [n][k], margin [n]) for each:
the chosen experts, their factors, and by how much the last chosen one led the best not chosen. Rows
may be lists or arrays. Written are expected.safetensors and case.json; docs/verify-a-checkpoint.md
says what each tensor means. Needs no packages.
"""

import array
import json
import pathlib
import random
import struct

PROMPT_LENGTHS = (1, 7, 40, 150)  # tokens; across the step sizes and windows that tests use
GREEDY_STEPS = 32
TYPES = {"F32": "f", "I32": "i", "I64": "q"}


def record(folder, forward, vocab, seed=1):
    folder = pathlib.Path(folder)
    draw = random.Random(seed)
    tensors = {}
    for number, length in enumerate(PROMPT_LENGTHS):
        ids = [draw.randrange(vocab) for _ in range(length)]
        record_prompt(tensors, f"p{number}.", ids, forward)
    write_safetensors(folder / "expected.safetensors", tensors)
    facts = {
        "family": json.loads((folder / "config.json").read_text())["model_type"],
        "params_total": stored_parameters(folder),
    }
    (folder / "case.json").write_text(json.dumps(facts, indent=1) + "\n")


def record_prompt(tensors, name, ids, forward):
    logits, routes = answer(forward, ids)
    add(tensors, name + "input_ids", "I64", [len(ids)], ids)
    add(tensors, name + "logits", "F32", [len(ids), len(logits[0])], flat(logits))
    if routes:
        add_routes(tensors, name, routes, len(ids))
    tokens, margins = continue_greedily(forward, ids, logits)
    add(tensors, name + "greedy", "I64", [GREEDY_STEPS], tokens)
    add(tensors, name + "greedy_margin", "F32", [GREEDY_STEPS], margins)


def answer(forward, ids):
    result = forward(list(ids))
    return result if isinstance(result, tuple) else (result, [])


def continue_greedily(forward, ids, logits):
    tokens, margins = [], []
    while True:
        last = [float(x) for x in logits[-1]]
        best = max(range(len(last)), key=last.__getitem__)
        tokens.append(best)
        margins.append(last[best] - max(last[:best] + last[best + 1:]))
        if len(tokens) == GREEDY_STEPS:
            return tokens, margins
        logits, _ = answer(forward, list(ids) + tokens)


def add_routes(tensors, name, routes, length):
    experts, weights, margins = [], [], []
    for _, layer_experts, layer_weights, layer_margins in routes:
        for row in range(length):
            pairs = sorted((int(e), float(w))
                           for e, w in zip(layer_experts[row], layer_weights[row]))
            experts += [e for e, _ in pairs]
            weights += [w for _, w in pairs]
        margins += [float(m) for m in layer_margins]
    shape = [len(routes), length, len(experts) // (len(routes) * length)]
    add(tensors, "router_layers", "I32", shape[:1], [layer for layer, *_ in routes])
    add(tensors, name + "router_topk_ids", "I32", shape, experts)
    add(tensors, name + "router_weights", "F32", shape, weights)
    add(tensors, name + "router_margin", "F32", shape[:2], margins)


def flat(rows):
    return [float(x) for row in rows for x in row]


def add(tensors, name, dtype, shape, values):
    tensors[name] = (dtype, shape, array.array(TYPES[dtype], values).tobytes())


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text
                     + b"".join(data for _, _, data in tensors.values()))


def stored_parameters(folder):
    """Elements of every tensor in the folder's weight files."""
    total = 0
    for path in folder.glob("*.safetensors"):
        if path.name == "expected.safetensors":
            continue
        with path.open("rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        header.pop("__metadata__", None)
        for tensor in header.values():
            size = 1
            for length in tensor["shape"]:
                size *= length
            total += size
    return total
