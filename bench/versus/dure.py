"""Dure as a side of the comparison: the programs under build/bin, and the model in its own format."""

import json
import pathlib
import subprocess

from random_gguf import Shape, byte_letters, vocabulary
from running import Served, output_of

# How the weights of a checkpoint in BF16 become those that llama.cpp has in its file.
QUANTIZE = {"bf16": [], "q8_0": ["--quantize", "q8"], "q4_0": ["--quantize", "q4"]}


def write_tokenizer(folder: pathlib.Path, size: int):
    """The vocabulary that the GGUF file has."""
    space = byte_letters()[32]
    texts = vocabulary(size)
    special = [{"id": size - 2 + i, "content": text, "special": True, "single_word": False,
                "lstrip": False, "rstrip": False, "normalized": False}
               for i, text in enumerate(texts[-2:])]
    bytes_only = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
                  "use_regex": True}
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "added_tokens": special, "normalizer": None,
        "pre_tokenizer": bytes_only, "post_processor": None, "decoder": bytes_only,
        "model": {"type": "BPE", "vocab": {text: i for i, text in enumerate(texts)},
                  "merges": [f"{space} {space}"]}}), encoding="utf-8")


class Dure:
    name = "Dure"

    def __init__(self, bin_folder: pathlib.Path, threads: int):
        self.bin, self.threads = bin_folder, str(threads)

    def write_model(self, folder: pathlib.Path, shape: Shape):
        sizes = (shape.hidden, shape.layers, shape.heads, shape.kv_heads, shape.head_dim,
                 shape.experts, shape.top_k, shape.expert_width, shape.vocab)
        subprocess.run([self.bin / "write_random_model", folder, *map(str, sizes)], check=True)
        write_tokenizer(folder, shape.vocab)

    def can(self, weights: str) -> bool:
        flags = QUANTIZE[weights]
        return not flags or flags[0] in output_of([str(self.bin / "dure"), "bench-local", "--help"])

    def limits(self) -> dict[str, float]:
        """What the machine can do at this moment: multiply-adds of BF16, bytes read."""
        operations, read = output_of(
            [str(self.bin / "dure-rank"), "--limits", self.threads, "bf16", "none"]).split()
        return {"bf16 Gop/s": float(operations) * 1e-9, "GB/s": float(read) * 1e-9}

    def local(self, model: pathlib.Path, weights: str) -> dict[str, float]:
        """tokens/s."""
        def run(prefill: int, decode: int, batch: int, repeat: int):
            return json.loads(output_of(
                [str(self.bin / "dure"), "bench-local", str(model), "--threads", self.threads,
                 "--prefill", str(prefill), "--decode", str(decode), "--batch", str(batch),
                 "--repeat", str(repeat), "--json", *QUANTIZE[weights]]))
        alone = run(512, 32, 1, 3)
        return {"prefill 512": alone["prefill_tokens_per_s"],
                "decode 1": alone["decode_tokens_per_s"],
                "decode 16": run(32, 16, 16, 1)["decode_tokens_per_s"],
                "decode 64": run(32, 16, 64, 1)["decode_tokens_per_s"]}

    def serve(self, model: pathlib.Path, weights: str, port: int, clients: int,
              tokens: int) -> Served:
        return Served([str(self.bin / "dure"), "serve", str(model), "--port", str(port),
                       "--threads", self.threads, "--max-sequences", str(clients),
                       "--context", str(tokens), *QUANTIZE[weights]], port)

    def load(self, port: int, clients: int, requests: int, prompt: int, output: int,
             seed: int) -> dict[str, float]:
        """Closed loop against any server; what its clients saw."""
        said = json.loads(output_of(
            [str(self.bin / "dure"), "bench", f"http://127.0.0.1:{port}",
             "--concurrency", str(clients), "--requests", str(requests), "--warmup", str(clients // 8),
             "--input", str(prompt), "--output", str(output), "--ignore-eos", "--temperature", "0.8",
             "--seed", str(seed), "--json"]))
        return {"tokens/s": said["output_tokens_per_s"], "TTFT p50, s": said["ttft_s"]["p50"],
                "ITL p50, ms": said["itl_s"]["p50"] * 1e3,
                "ITL p99, ms": said["itl_s"]["p99"] * 1e3}
