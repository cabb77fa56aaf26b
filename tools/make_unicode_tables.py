#!/usr/bin/env python3
"""Writes src/text/unicode_tables.cc: the character tables of tokenizers.

Classes are those of Unicode 16.0, taken from the PyPI package regex==2024.11.6; canonical
decompositions are those of Unicode 9.0: normalisation never changes for an assigned character, so
Python's own newer tables are used for the characters that Perl's Age property dates 9.0 or earlier.

  make_unicode_tables.py src/text/unicode_tables.cc [--check unicode_classes.json]
"""
import argparse
import json
import subprocess
import sys
import unicodedata

import regex
import regex._regex as regex_core

CATEGORIES = ("Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp "
              "Cc Cf Cn Co Cs").split()
SCRIPTS = "Arabic Cyrillic Devanagari Greek Han Hangul Hebrew Hiragana Katakana Latin Thai".split()
ALL = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def members(pattern):
    match = regex.compile(pattern).match
    return {c for c in ALL if match(chr(c))}


def ranges(codes):
    out = []
    for c in sorted(codes):
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def category_runs():
    of = [CATEGORIES.index("Cs")] * 0x110000
    for index, name in enumerate(CATEGORIES):
        if name != "Cs":
            for c in members(r"\p{%s}" % name):
                of[c] = index
    return [(c, of[c]) for c in range(0x110000) if c == 0 or of[c] != of[c - 1]]


def fold_runs():
    """Runs of characters whose simple case folding differs: first, last, step, smallest sibling."""
    # The dotted and dotless i are siblings of i only in Turkish; the two st ligatures only of each
    # other, by way of their two-letter folding.
    representative = {}
    for c in ALL:
        cases = set(regex_core.get_all_cases(regex.I | regex.U, c))
        if c in (0x130, 0x131):
            continue
        cases -= {0x130, 0x131}
        if min(cases) != c:
            representative[c] = min(cases)
    runs = []
    for c in sorted(representative):
        target = representative[c]
        if runs:
            first, last, step, base = runs[-1]
            gap = c - last
            if target - base == c - first and gap <= 2 and (step in (0, gap)):
                runs[-1] = (first, c, gap, base)
                continue
        runs.append((c, c, 0, target))
    return [(first, last, max(step, 1), base) for first, last, step, base in runs]


def multi_folds():
    return [(ord(c), [ord(f) for f in c.casefold()]) for c in regex_core.get_expand_on_folding()]


def age_9():
    script = "for (0..0x10FFFF) { next if $_ >= 0xD800 && $_ < 0xE000; " \
             "print \"$_\\n\" if chr($_) =~ /\\p{Present_In: 9.0}/ }"
    return {int(line) for line in subprocess.check_output(["perl", "-e", script]).split()}


def normalisation():
    combining, decompositions = [], []
    for c in sorted(age_9()):
        character = chr(c)
        ccc = unicodedata.combining(character)
        if ccc:
            if combining and combining[-1][1] == c - 1 and combining[-1][2] == ccc:
                combining[-1][1] = c
            else:
                combining.append([c, c, ccc])
        mapping = unicodedata.decomposition(character)
        if mapping and not mapping.startswith("<") and not 0xAC00 <= c <= 0xD7A3:
            parts = [int(part, 16) for part in mapping.split()]
            full = unicodedata.normalize("NFD", character)
            composes = len(parts) == 2 and unicodedata.normalize("NFC", full) == character
            decompositions.append((c, parts[0], parts[1] if len(parts) == 2 else 0, int(composes)))
    return combining, decompositions


def check(path):
    for name, want in json.load(open(path)).items():
        if name.startswith("ci_"):
            got = members(r"(?i:%s)" % name[3:]) - {0x130, 0x131}
        else:
            got = members(r"\s" if name == "space" else r"\p{%s}" % name)
        if ranges(got) != want:
            sys.exit(f"class {name} differs from {path}")


def table(out, declaration, rows):
    out.write(f"const {declaration} = {{\n")
    line = "   "
    for row in rows:
        text = " " + row + ","
        if len(line) + len(text) > 100:
            out.write(line + "\n")
            line = "   "
        line += text
    out.write(line + "\n};\n")
    name = declaration.split()[-1].removesuffix("[]")
    out.write(f"const size_t {name}_size = {len(rows)};\n\n")


def hexes(*values):
    return ", ".join(f"0x{v:X}" if v > 9 else str(v) for v in values)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("output")
    parser.add_argument("--check", help="a JSON object of class name -> code-point ranges")
    arguments = parser.parse_args()
    if arguments.check:
        check(arguments.check)
    combining, decompositions = normalisation()
    with open(arguments.output, "w") as out:
        out.write("// Written by tools/make_unicode_tables.py; do not edit.\n"
                  "// Classes and case folding of Unicode 16.0, normalisation of Unicode 9.0.\n"
                  "#include \"text/unicode_tables.h\"\n\n"
                  "// clang-format off\nnamespace dure::unicode {\n\n")
        names = ", ".join('"%s"' % name for name in CATEGORIES)
        out.write(f"const char* const category_names[] = {{{names}}};\n"
                  f"const size_t category_names_size = {len(CATEGORIES)};\n\n")
        table(out, "uint32_t category_runs[]", [hexes(c << 8 | g) for c, g in category_runs()])
        other = members(r"\p{Alphabetic}") - members(r"[\p{L}\p{Nl}]")
        table(out, "Range other_alphabetic[]", ["{%s}" % hexes(*r) for r in ranges(other)])
        for script in SCRIPTS:
            table(out, f"Range script_{script.lower()}[]",
                  ["{%s}" % hexes(*r) for r in ranges(members(r"\p{%s}" % script))])
        out.write("const Script scripts[] = {\n")
        for script in SCRIPTS:
            name = f"script_{script.lower()}"
            out.write(f"    {{\"{script}\", {name}, {name}_size}},\n")
        out.write(f"}};\nconst size_t scripts_size = {len(SCRIPTS)};\n\n")
        table(out, "FoldRun fold_runs[]", ["{%s}" % hexes(*r) for r in fold_runs()])
        table(out, "MultiFold multi_folds[]",
              ["{%s, {%s}}" % (hexes(c), hexes(*f)) for c, f in multi_folds()])
        table(out, "CombiningRun combining_runs[]", ["{%s}" % hexes(*r) for r in combining])
        table(out, "Decomposition decompositions[]",
              ["{%s}" % hexes(*d) for d in decompositions])
        out.write("}  // namespace dure::unicode\n")


if __name__ == "__main__":
    main()
