#!/usr/bin/env python3
"""clang-tidy over every source of the project, in parallel. A source is skipped when nothing that
it was checked with has changed: its own text, the project's headers that it includes, the checks and
the flags."""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def digest(*parts: bytes) -> str:
    state = hashlib.sha256()
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()


INCLUDE = re.compile(rb'^#include "([^"]+)"', re.M)


def included(path: pathlib.Path, found: dict) -> dict:
    """Text of a file and of all the project's headers it includes, by path."""
    if path not in found and path.exists():
        found[path] = path.read_bytes()
        for name in INCLUDE.findall(found[path]):
            included(ROOT / "src" / name.decode(), found)
    return found


def main() -> int:
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()
    commands = json.loads((build / "compile_commands.json").read_text())
    checks = (ROOT / ".clang-tidy").read_bytes()
    stamps = build / "tidy"
    stamps.mkdir(exist_ok=True)
    todo = []
    for command in commands:
        source = pathlib.Path(command["file"])
        if ROOT / "src" not in source.parents or source.name.endswith("_test.cc"):
            continue
        texts = included(source, {})
        key = digest(checks, command.get("command", "").encode(), *(texts[at] for at in sorted(texts)))
        if not (stamps / key).exists():
            todo.append((source, stamps / key))

    def check(item):
        source, stamp = item
        done = subprocess.run(["clang-tidy-14", "--quiet", "-p", str(build), str(source)],
                              capture_output=True, text=True)
        if done.returncode == 0:
            stamp.touch()
        return source, done

    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for source, done in pool.map(check, todo):
            if done.returncode != 0:
                bad += 1
                print(f"clang-tidy: {source.relative_to(ROOT)}\n{done.stdout}{done.stderr[-2000:]}")
    print(f"clang-tidy: {len(todo)} files read, {bad} with problems")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
