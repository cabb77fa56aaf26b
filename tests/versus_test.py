"""What bench/versus_llama_cpp builds on: the random GGUF file is one, the two models are the same in
size, and the report compares what belongs together."""

import json
import pathlib
import struct
import sys

from serving import BIN, ROOT

sys.path.insert(0, str(ROOT / "bench/versus"))

# pylint: disable=wrong-import-position
import random_gguf
from dure import write_tokenizer
from report import report

TINY = random_gguf.Shape(hidden=256, layers=2, heads=4, kv_heads=2, head_dim=64, experts=8, top_k=2,
                         expert_width=128, vocab=1000)


class Reader:
    """Enough of GGUF's own description to read such a file back."""

    NUMBERS = {random_gguf.UINT32: "<I", random_gguf.INT32: "<i", random_gguf.FLOAT32: "<f",
               random_gguf.BOOL: "<?"}

    def __init__(self, path: pathlib.Path):
        self.data, self.at = path.read_bytes(), 0
        magic, version, tensors, entries = self.take("<4sIQQ")
        assert (magic, version) == (b"GGUF", 3)
        self.metadata = {self.text(): self.value() for _ in range(entries)}
        self.tensors = {}
        for _ in range(tensors):
            name, (dims,) = self.text(), self.take("<I")
            sizes = self.take(f"<{dims}Q")
            self.tensors[name] = (sizes, *self.take("<IQ"))
        self.begin = -(-self.at // 32) * 32

    def take(self, form: str):
        found = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return found

    def text(self) -> str:
        (length,) = self.take("<Q")
        self.at += length
        return self.data[self.at - length:self.at].decode()

    def value(self, kind=None):
        kind = kind if kind is not None else self.take("<I")[0]
        if kind == random_gguf.STRING:
            return self.text()
        if kind == random_gguf.ARRAY:
            inner, count = self.take("<IQ")
            return [self.value(inner) for _ in range(count)]
        return self.take(self.NUMBERS[kind])[0]


def test_the_file_holds_every_tensor_once_and_nothing_else(tmp_path):
    for name, kind in random_gguf.FORMATS.items():
        path = tmp_path / f"{name}.gguf"
        random_gguf.write_gguf(path, TINY, name)
        file = Reader(path)
        assert file.metadata["qwen3moe.expert_count"] == TINY.experts
        assert len(file.metadata["tokenizer.ggml.tokens"]) == TINY.vocab
        assert len(set(file.metadata["tokenizer.ggml.tokens"])) == TINY.vocab
        assert len(file.tensors) == 3 + 12 * TINY.layers
        end = 0
        for sizes, number, offset in file.tensors.values():
            assert offset == end
            form = random_gguf.F32 if number == 0 else kind
            end += -(-random_gguf.bytes_of(sizes, form) // 32) * 32
        assert len(file.data) == file.begin + end


def test_the_weights_of_a_row_spread_as_those_of_a_trained_model(tmp_path):
    path = tmp_path / "bf16.gguf"
    random_gguf.write_gguf(path, TINY, "bf16")
    file = Reader(path)
    sizes, _, offset = file.tensors["blk.1.ffn_down_exps.weight"]
    count = sizes[0] * sizes[1] * sizes[2]
    halves = struct.unpack_from(f"<{count}H", file.data, file.begin + offset)
    values = [struct.unpack("<f", struct.pack("<I", half << 16))[0] for half in halves]
    mean_square = sum(value * value for value in values) / count
    assert abs(mean_square * sizes[0] - 0.49) < 0.02  # (0.7 / √inputs)²


def test_the_vocabulary_is_one_that_dure_reads(tmp_path):
    import subprocess  # pylint: disable=import-outside-toplevel
    subprocess.run([BIN / "write_random_model", tmp_path, "256", "2", "4", "2", "64", "8", "2", "128",
                    "1000"], check=True)
    write_tokenizer(tmp_path, TINY.vocab)
    from serving import serving  # pylint: disable=import-outside-toplevel
    with serving("--max-sequences", "4", model=tmp_path) as server:
        status, answer, _ = server.post("/v1/completions", {
            "prompt": list(range(300, 428)), "max_tokens": 8, "ignore_eos": True})
        assert status == 200 and answer["usage"]["completion_tokens"] == 8
        assert server.post("/detokenize", {"tokens": [300]})[1]["prompt"] == "word300"


def test_the_report_compares_medians_and_turns_times_round(tmp_path):
    def line(side, tokens, ttft):
        return json.dumps({"mode": "served", "weights": "q8_0", "side": side,
                           "figures": {"tokens/s": tokens, "TTFT p50, s": ttft},
                           "limits": {"GB/s": 30.0 + tokens / 10}})
    results = tmp_path / "results.jsonl"
    results.write_text("\n".join([line("llama.cpp", 30, 15), line("Dure", 90, 3),
                                  line("llama.cpp", 20, 12), line("Dure", 110, 5),
                                  line("llama.cpp", 40, 18), line("Dure", 120, 4)]), encoding="utf-8")
    text = report(results)
    assert "| tokens/s | 110 | 30 | 3.67 × |" in text
    assert "| TTFT p50, s | 4 | 15 | 3.75 × |" in text
    assert "32.0 to 42.0 GB/s" in text
