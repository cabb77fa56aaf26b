#!/usr/bin/env python3
"""The include table: which folder of src/ may know which. Refuses any other include."""

import pathlib
import re
import sys

MAY_INCLUDE = {
    "base": [],
    "load": ["base"],
    "trace": ["base"],
    "tensor": ["base"],
    "gguf": ["base", "tensor"],
    "model": ["base", "tensor", "gguf"],
    "cluster": ["base", "tensor"],
    "cost": ["base", "tensor", "model", "cluster", "schedule"],
    "schedule": ["base"],
    "simulate": ["base", "tensor", "model", "cluster", "cost", "schedule"],
    "plan": ["base", "tensor", "model", "cluster", "cost", "schedule", "simulate", "calibrate"],
    "text": ["base", "gguf"],
    "dialogue": ["base", "text"],
    "grammar": ["base"],
    "protocol": ["base", "tensor", "cluster", "trace"],
    "keeper": ["base", "trace"],
    "kernels": ["base", "tensor"],
    "comm": ["base", "cluster", "tensor", "protocol", "trace"],
    "layers": ["base", "tensor", "kernels", "comm", "model", "cluster", "cost", "trace"],
    "engine": ["base", "tensor", "kernels", "comm", "model", "cluster", "cost", "schedule", "layers",
               "protocol", "keeper", "trace"],
    "group": ["base", "tensor", "model", "cluster", "cost", "protocol", "trace"],
    "verify": ["base", "tensor", "model", "cluster", "cost", "protocol", "group"],
    "server": ["base", "tensor", "model", "cluster", "cost", "protocol", "group", "schedule", "text",
               "grammar", "dialogue", "trace"],
    "calibrate": ["base", "tensor", "model", "cluster", "cost", "simulate"],
    "cli": ["base", "tensor", "gguf", "model", "cluster", "cost", "simulate", "plan", "protocol", "group",
            "schedule", "text", "verify", "server", "load", "trace"],
}
# Programs and tests that prove ranks need MPI's side beside the front's; those of masks, vocabularies.
EXTRA = {
    re.compile(r"src/group/.*(_test|_main)\.cc"): ["comm", "keeper"],
    re.compile(r"src/grammar/.*(_test|_main)\.cc"): ["text"],
}
# Heavy headers stay out of headers: every file that includes ours would pay for them.
HEAVY = re.compile(r'#include <(boost/|simdjson|nlohmann/json\.hpp|mpi\.h|CLI/)')
INCLUDE = re.compile(r'#include "([a-z_]+)/')
LONGEST = 500  # lines


def problems(root: pathlib.Path):
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in (".h", ".cc"):
            continue
        name = path.relative_to(root).as_posix()
        folder = path.relative_to(root / "src").parts[0]
        if folder not in MAY_INCLUDE:
            yield f"{name}: folder '{folder}' is not in the include table"
            continue
        allowed = {folder, *MAY_INCLUDE[folder]}
        for pattern, extra in EXTRA.items():
            if pattern.fullmatch(name):
                allowed.update(extra)
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            found = INCLUDE.match(line)
            if found and found.group(1) not in allowed:
                yield f"{name}:{number}: {folder} may not include {found.group(1)}"
            if path.suffix == ".h" and HEAVY.match(line):
                yield f"{name}:{number}: a heavy header in a header"
        if not name.endswith("_test.cc") and (not lines or not lines[0].startswith("//")):
            yield f"{name}:1: no comment at the top says what the file is for"
        generated = any("do not edit" in line for line in lines[:3])
        if len(lines) > LONGEST and not generated:
            yield f"{name}: {len(lines)} lines, more than {LONGEST}: is it one idea?"


def main() -> int:
    found = list(problems(pathlib.Path(__file__).resolve().parent.parent))
    for problem in found:
        print(problem)
    print(f"include table: {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
