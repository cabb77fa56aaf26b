"""Writes GGUF files with random weights, for measuring: the sizes of a qwen3moe model, a vocabulary of
bytes and made-up words. Values do not matter to speed, but their spread is that of real weights, so
that logits and the choice of experts stay sane. Nothing but the standard library."""

import dataclasses
import math
import random
import struct

ALIGNMENT = 32
UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9


@dataclasses.dataclass(frozen=True)
class Shape:
    """Defaults: Qwen3-30B-A3B with 8 of its 48 layers."""
    hidden: int = 2048
    layers: int = 8
    heads: int = 32
    kv_heads: int = 4
    head_dim: int = 128
    experts: int = 128
    top_k: int = 8
    expert_width: int = 768
    vocab: int = 151936
    context: int = 4096


@dataclasses.dataclass(frozen=True)
class Format:
    """A tensor type: its number in files, and blocks of so many values in so many bytes."""
    name: str
    number: int
    file_type: int  # what a file of mostly these is called
    values: int
    bytes: int


F32 = Format("f32", 0, 0, 1, 4)
FORMATS = {made.name: made for made in (
    Format("bf16", 30, 32, 1, 2), Format("q8_0", 8, 7, 32, 34), Format("q4_0", 2, 2, 32, 18))}


def byte_letters():
    """The letter that stands for each byte in byte-level vocabularies."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    letter = {byte: chr(byte) for byte in plain}
    letter.update({byte: chr(256 + i) for i, byte in enumerate(others)})
    return [letter[byte] for byte in range(256)]


def vocabulary(size):
    """Texts of all ids: bytes, one pair that merges (a file needs one), words, begin and end."""
    space = byte_letters()[32]
    texts = byte_letters() + [space + space]
    texts += [f"word{i}" for i in range(len(texts), size - 2)]
    return texts + ["<|begin|>", "<|end|>"]


def tensors_of(shape, weights):
    """(name, sizes with the inner one first, format) of every tensor, as llama.cpp names them."""
    queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    found = [("token_embd", (shape.hidden, shape.vocab), weights),
             ("output_norm", (shape.hidden,), F32),
             ("output", (shape.hidden, shape.vocab), weights)]
    for layer in range(shape.layers):
        found += [(f"blk.{layer}.{name}", sizes, kind) for name, sizes, kind in (
            ("attn_norm", (shape.hidden,), F32),
            ("attn_q", (shape.hidden, queries), weights),
            ("attn_k", (shape.hidden, keys), weights),
            ("attn_v", (shape.hidden, keys), weights),
            ("attn_output", (queries, shape.hidden), weights),
            ("attn_q_norm", (shape.head_dim,), F32),
            ("attn_k_norm", (shape.head_dim,), F32),
            ("ffn_norm", (shape.hidden,), F32),
            ("ffn_gate_inp", (shape.hidden, shape.experts), F32),
            ("ffn_gate_exps", (shape.hidden, shape.expert_width, shape.experts), weights),
            ("ffn_up_exps", (shape.hidden, shape.expert_width, shape.experts), weights),
            ("ffn_down_exps", (shape.expert_width, shape.hidden, shape.experts), weights))]
    return [(name + ".weight", sizes, kind) for name, sizes, kind in found]


def metadata_of(shape, weights):
    """(key, type, value) of every entry."""
    end = shape.vocab - 1
    model = {
        "context_length": (UINT32, shape.context), "embedding_length": (UINT32, shape.hidden),
        "block_count": (UINT32, shape.layers), "expert_count": (UINT32, shape.experts),
        "feed_forward_length": (UINT32, shape.expert_width),
        "expert_feed_forward_length": (UINT32, shape.expert_width),
        "expert_used_count": (UINT32, shape.top_k), "rope.freq_base": (FLOAT32, 10000.0),
        "attention.head_count": (UINT32, shape.heads),
        "attention.head_count_kv": (UINT32, shape.kv_heads),
        "attention.key_length": (UINT32, shape.head_dim),
        "attention.value_length": (UINT32, shape.head_dim),
        "attention.layer_norm_rms_epsilon": (FLOAT32, 1e-6)}
    texts = vocabulary(shape.vocab)
    normal, control = 1, 3
    space = byte_letters()[32]
    return [("general.architecture", STRING, "qwen3moe"), ("general.name", STRING, "random"),
            ("general.file_type", UINT32, weights.file_type),
            *((f"qwen3moe.{key}", kind, value) for key, (kind, value) in model.items()),
            ("tokenizer.ggml.model", STRING, "gpt2"), ("tokenizer.ggml.pre", STRING, "qwen2"),
            ("tokenizer.ggml.tokens", ARRAY, (STRING, texts)),
            ("tokenizer.ggml.token_type", ARRAY,
             (INT32, [normal] * (shape.vocab - 2) + [control] * 2)),
            ("tokenizer.ggml.merges", ARRAY, (STRING, [f"{space} {space}"])),
            ("tokenizer.ggml.bos_token_id", UINT32, end - 1),
            ("tokenizer.ggml.eos_token_id", UINT32, end),
            ("tokenizer.ggml.add_bos_token", BOOL, False)]


def encoded(kind, value):
    if kind == STRING:
        data = value.encode()
        return struct.pack("<Q", len(data)) + data
    if kind == ARRAY:
        inner, items = value
        return (struct.pack("<IQ", inner, len(items))
                + b"".join(encoded(inner, item) for item in items))
    return struct.pack({UINT32: "<I", INT32: "<i", FLOAT32: "<f", BOOL: "<?"}[kind], value)


def bytes_of(sizes, kind):
    return math.prod(sizes) // kind.values * kind.bytes


class Pool:
    """Random blocks of one format and spread, a prime number of them, written over and over from
    random places: no two rows of a matrix are alike."""

    BLOCKS = 65537

    def __init__(self, kind, spread, source):
        self.kind, self.source = kind, source
        if kind.values == 1:
            values = [source.gauss(0.0, spread) for _ in range(self.BLOCKS)]
            whole = [struct.pack("<f", value) for value in values]
            blocks = [value[4 - kind.bytes:] for value in whole]  # bf16 is f32's upper half
        else:
            levels = 255 if kind.name == "q8_0" else 15  # equally likely ones spread levels / √12
            scale = struct.pack("<e", spread * math.sqrt(12.0) / levels)
            blocks = [scale + source.randbytes(kind.bytes - 2) for _ in range(self.BLOCKS)]
        self.data = memoryview(b"".join(blocks) * 16)

    def write(self, file, left):
        at = self.source.randrange(self.BLOCKS) * self.kind.bytes
        while left > 0:
            count = min(left, len(self.data) - at)
            file.write(self.data[at:at + count])
            left, at = left - count, 0


def write_gguf(path, shape, weights_name):
    weights = FORMATS[weights_name]
    tensors, metadata = tensors_of(shape, weights), metadata_of(shape, weights)
    source = random.Random(1)
    pools = {}
    with open(path, "wb") as file:
        file.write(struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(metadata)))
        for key, kind, value in metadata:
            file.write(encoded(STRING, key) + struct.pack("<I", kind) + encoded(kind, value))
        offset = 0
        for name, sizes, kind in tensors:
            file.write(encoded(STRING, name) + struct.pack("<I", len(sizes))
                       + struct.pack(f"<{len(sizes)}Q", *sizes)
                       + struct.pack("<IQ", kind.number, offset))
            offset += -(-bytes_of(sizes, kind) // ALIGNMENT) * ALIGNMENT
        for name, sizes, kind in tensors:
            file.write(bytes(-file.tell() % ALIGNMENT))
            if len(sizes) == 1:
                file.write(struct.pack("<f", 1.0) * sizes[0])
                continue
            spread = 0.7 / math.sqrt(sizes[0])
            if (kind, spread) not in pools:
                pools[kind, spread] = Pool(kind, spread, source)
            pools[kind, spread].write(file, bytes_of(sizes, kind))
        file.write(bytes(-file.tell() % ALIGNMENT))
