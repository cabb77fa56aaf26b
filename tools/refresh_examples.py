#!/usr/bin/env python3
"""Runs every `$ dure …` line of a page's console blocks again and puts its output in the block.

    tools/refresh_examples.py build/bin/dure docs/planning.md [--check]

With --check nothing is written: exit 1 where the page says something else than the program.
"""

import pathlib
import re
import shlex
import subprocess
import sys

BLOCK = re.compile(r"```console\n\$ (dure [^\n]*)\n.*?```\n", re.S)


def output_of(program: str, line: str) -> str:
    run = subprocess.run([program, *shlex.split(line)[1:]], capture_output=True, text=True)
    if run.returncode not in (0, 1):
        sys.exit(f"{line}\n{run.stderr}")
    return run.stdout


def main() -> int:
    program, page = sys.argv[1], pathlib.Path(sys.argv[2])
    text = page.read_text(encoding="utf-8")
    lines = BLOCK.findall(text)
    fresh = BLOCK.sub(
        lambda block: f"```console\n$ {block[1]}\n{output_of(program, block[1])}```\n", text)
    if "--check" in sys.argv:
        print(f"{page}: {len(lines)} commands, " + ("as printed" if fresh == text else "outdated"))
        return 0 if fresh == text else 1
    page.write_text(fresh, encoding="utf-8")
    print(f"{page}: {len(lines)} commands")
    return 0


if __name__ == "__main__":
    sys.exit(main())
