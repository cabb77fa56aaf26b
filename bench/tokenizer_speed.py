#!/usr/bin/env python3
"""Encoding speed of Dure beside Hugging Face tokenizers, one thread each, on the same texts.

  pip install tokenizers
  bench/tokenizer_speed.py --program build/bin/tokenizer_speed --tokenizers DIR FILE...

DIR holds one folder per tokenizer; FILEs are UTF-8 texts of some megabytes. Prints MB/s of both and
their ratio (above 1: Dure is faster), best of five runs that take turns.
"""
import argparse
import os
import re
import subprocess
import time

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import tokenizers  # noqa: E402  (reads the environment when it is imported)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--tokenizers", required=True)
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    print(f"tokenizers {tokenizers.__version__}")
    print(f"{'tokenizer':14} {'text':14} {'dure MB/s':>10} {'hf MB/s':>10} {'ratio':>6}")
    for name in sorted(os.listdir(arguments.tokenizers)):
        folder = os.path.join(arguments.tokenizers, name)
        path = os.path.join(folder, "tokenizer.json")
        if not os.path.exists(path):
            continue
        begin = time.perf_counter()
        reference = tokenizers.Tokenizer.from_file(path)
        reference_load = time.perf_counter() - begin
        for file in arguments.files:
            text = open(file, encoding="utf-8", newline="").read()
            size = len(text.encode())
            best = float("inf")
            count = 0
            for _ in range(5):
                begin = time.perf_counter()
                count = len(reference.encode(text, add_special_tokens=False).ids)
                best = min(best, time.perf_counter() - begin)
            output = subprocess.check_output([arguments.program, folder, file], text=True)
            load = float(re.search(r"load ([\d.]+)", output).group(1))
            tokens, speed = re.search(r"(\d+) tokens ([\d.]+) MB/s", output).groups()
            note = "" if int(tokens) == count else f"  ids differ: {tokens} and {count}"
            print(f"{name:14} {os.path.basename(file):14} {float(speed):10.2f} "
                  f"{size / best / 1e6:10.2f} {float(speed) * best * 1e6 / size:6.2f}{note}")
        print(f"{name:14} {'(load)':14} {load:9.3f}s {reference_load:9.3f}s "
              f"{reference_load / load:6.2f}")


if __name__ == "__main__":
    main()
