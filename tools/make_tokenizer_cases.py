#!/usr/bin/env python3
"""Records what Hugging Face tokenizers does with patterns and components that few models use.

  pip install tokenizers==0.23.3
  tools/make_tokenizer_cases.py testdata/text [--seed 1]

Writes splits.jsonl ({pre_tokenizer, text, pieces}) and components.jsonl ({tokenizer, cases}).
"""
import argparse
import json
import os
import random

from tokenizers import Tokenizer, decoders

PATTERNS = [
    r"^a", r"a$", r".+", r"(?m:.+)", r"a{2}?", r"a{2}+", r"a{,2}", r"a++a", r"a?+a", r"a*+b", r"\d",
    r"\w+", r"\W", r"\h+", r"(?i:k)+", r"(?i)a|b", r"a(?i)b|c", r"[a-z&&[^bc]]+", r"\p{Han}+",
    r"\p{Letter}+", r"\pL", r"\u00e9", r"\x{e9}", r"a{", r"a{1,x}", r"[]a]", r"[a-]+", r"\p{^L}+",
    r"(?<=a)b", r"(?<!a)b", r"(?<=a|bc)b", r"\bb", r"\Bb", r"x*", r"(a*)*b", r"a**", r"a+?b",
    r"a*?b", r"a??b", r"\Z", r"\z", r"\A.", r"[\w-]+", r"[\s\S]", r"[^\n]+", r"(?i:[a-c])+",
    r"(?i:[^a-c])+", r"(?i:\p{Lu})", r"[\w]+|\w", r"[^\w]+", r"[\W]|\W+", r"(?:ab|a)(?:c|bcd)", r"(?>ab|a)b",
    r"(?:a|ab){2}", r"(?:a|b)*?c", r"(?=ab)a|b", r"(?!ab)[ab]", r"a(?=b|$)", r"(?:(?=a)a|b)+",
    r"(?:a(?!b)|b)+", r"((?:a|)b?)+c", r"(?:a?){3}b", r"(?:|a)+b", r"(?:a{1,2}b?){2,3}",
    r"(?:ab?+)+b", r"(?<x>a)b", r"[[ab][^c]]+", r"[a\]b]+", r"\p{P}|\p{S}", r"\s+$", r"\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|\p{L}+", r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}",
    r"\p{Alphabetic}+", r"\p{Greek}+", r"\p{Nd}+", r"\p{Zs}", r"\p{Cc}", r"\p{Lo}+",
]
ALPHABET = list("aaabbbccdxyABK  \n\r\t'sS.,-1234[]{") + list("é漢字٣²Ⅷσςſ\u212a\u200d\u0301가한😀_\u00a0")
FIXED_TEXTS = ["", "a", "aab abb", "AbC k\u212a's'S'\u017f", "ab\ncd\n", "aaaa", "ab bcb b", "x\n\n "]
BEHAVIORS = ["Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"]


def empty_tokenizer(**parts):
    base = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
            "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None,
            "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}
    base.update(parts)
    return base


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def texts(generator, count):
    for _ in range(count):
        yield "".join(generator.choice(ALPHABET) for _ in range(generator.randint(1, 24)))


def write_splits(path, generator):
    configurations = [split(p) for p in PATTERNS]
    configurations += [split(p, b, i, k) for b in BEHAVIORS for i in (False, True)
                       for p, k in ((r"\s+|b", "Regex"), ("a", "String"))]
    configurations += [
        {"type": "Digits", "individual_digits": True}, {"type": "Digits", "individual_digits": False},
        {"type": "Punctuation", "behavior": "Isolated"},
        {"type": "Punctuation", "behavior": "Contiguous"}, {"type": "Whitespace"},
        {"type": "WhitespaceSplit"}, {"type": "CharDelimiterSplit", "delimiter": "a"},
        {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True},
        {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": False},
        {"type": "Sequence", "pretokenizers": [split(r"\d+"), {
            "type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}]},
    ]
    configurations += [{"type": "ByteLevel", "add_prefix_space": p, "trim_offsets": True,
                        "use_regex": r} for p in (False, True) for r in (False, True)]
    byte_level = decoders.ByteLevel()
    with open(path, "w") as out:
        for configuration in configurations:
            tokenizer = Tokenizer.from_str(json.dumps(empty_tokenizer(pre_tokenizer=configuration)))
            for text in FIXED_TEXTS + list(texts(generator, 6)):
                pieces = [p for p, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)]
                if configuration["type"] == "ByteLevel":
                    pieces = [byte_level.decode([p]) for p in pieces]
                out.write(json.dumps({"pre_tokenizer": configuration, "text": text,
                                      "pieces": pieces}) + "\n")


def added(identifier, content, **flags):
    token = {"id": identifier, "content": content, "single_word": False, "lstrip": False,
             "rstrip": False, "normalized": False, "special": False}
    token.update(flags)
    return token


def sentencepiece_like(byte_tokens, **model):
    """▁-words with byte fallback, as Llama 2 has it; `byte_tokens` of the 256 bytes have tokens."""
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in byte_tokens]
    tokens += list("▁abcdexyé") + ["▁a", "ab", "bc", "abc", "▁abc", "▁▁", "xy", "yx"]
    merges = ["▁ a", "a b", "b c", "ab c", "▁a bc", "▁ abc", "▁ ▁", "x y", "y x"]
    vocabulary = {t: i for i, t in enumerate(tokens)}
    return {"type": "BPE", "vocab": vocabulary, "merges": merges, "unk_token": "<unk>",
            "fuse_unk": True, "byte_fallback": True, **model}


def tokenizers():
    special = [added(0, "<unk>", special=True), added(1, "<s>", special=True),
               added(2, "</s>", special=True)]
    template = {"type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                           {"Sequence": {"id": "A", "type_id": 0}},
                           {"SpecialToken": {"id": "</s>", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}},
                         {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {t: {"id": t, "ids": [i], "tokens": [t]}
                                   for t, i in (("<s>", 1), ("</s>", 2))}}
    replace = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    llama_decoder = {"type": "Sequence", "decoders": [
        replace, {"type": "ByteFallback"}, {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}
    llama_normalizer = {"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": "▁"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}
    all_bytes = range(256)
    yield empty_tokenizer(added_tokens=special, normalizer=llama_normalizer,
                          post_processor=template, decoder=llama_decoder,
                          model=sentencepiece_like(all_bytes))
    yield empty_tokenizer(added_tokens=special, normalizer=llama_normalizer,
                          decoder=llama_decoder, model=sentencepiece_like(range(128)))
    for fuse in (False, True):
        yield empty_tokenizer(added_tokens=special, decoder=llama_decoder, post_processor={
            "type": "Sequence", "processors": [{"type": "ByteLevel", "add_prefix_space": True,
                                                "trim_offsets": False, "use_regex": True}, template]},
            model=sentencepiece_like(range(0xC0, 0x100), byte_fallback=False, fuse_unk=fuse))
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
    yield empty_tokenizer(added_tokens=special, pre_tokenizer=metaspace, decoder=metaspace,
                          model=sentencepiece_like(all_bytes))
    yield empty_tokenizer(added_tokens=special, pre_tokenizer=metaspace, decoder={
        "type": "Sequence", "decoders": [
            replace, {"type": "Strip", "content": "a", "start": 1, "stop": 0},
            {"type": "ByteFallback"}, {"type": "Fuse"}]}, model=sentencepiece_like(all_bytes))
    flags = [added(0, "<unk>", special=True), added(1, "<s>", special=True, lstrip=True),
             added(2, "</s>", special=True, rstrip=True)]
    size = len(sentencepiece_like(all_bytes)["vocab"])
    flags += [added(size, "word", single_word=True), added(size + 1, "b c", normalized=True),
              added(size + 2, "ee", lstrip=True, rstrip=True), added(size + 3, "<s>x"),
              added(size + 4, "yy", normalized=True, single_word=True)]
    yield empty_tokenizer(added_tokens=flags, normalizer=llama_normalizer, decoder=llama_decoder,
                          model=sentencepiece_like(all_bytes))
    yield empty_tokenizer(added_tokens=flags, decoder=llama_decoder,
                          normalizer={"type": "Replace", "pattern": {"Regex": r"\s+|[bc]+"},
                                      "content": "x"},
                          model=sentencepiece_like(all_bytes, ignore_merges=True))
    yield empty_tokenizer(added_tokens=special, model=sentencepiece_like(all_bytes))


def write_components(path, generator):
    alphabet = ["a", "b", "c", "ab", "abc", " ", "  ", "▁", "x", "y", "yy", "ee", "e", "é", "한", "😀", "\n", "z",
                "<s>", "</s>", "<unk>", "word", " word ", "b c", "<0x41>", "\t", "\u0301", "xyxyx"]
    with open(path, "w") as out:
        for configuration in tokenizers():
            tokenizer = Tokenizer.from_str(json.dumps(configuration))
            cases = []
            for _ in range(60):
                text = "".join(generator.choice(alphabet) for _ in range(generator.randint(0, 14)))
                for parse_special in (True, False):
                    tokenizer.encode_special_tokens = not parse_special
                    add = generator.random() < 0.5
                    ids = tokenizer.encode(text, add_special_tokens=add).ids
                    cases.append({"text": text, "add_special": add, "parse_special": parse_special,
                                  "ids": ids,
                                  "decoded": tokenizer.decode(ids, skip_special_tokens=False),
                                  "decoded_skip_special": tokenizer.decode(ids)})
            out.write(json.dumps({"tokenizer": configuration, "cases": cases}) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    generator = random.Random(arguments.seed)
    write_splits(os.path.join(arguments.folder, "splits.jsonl"), generator)
    write_components(os.path.join(arguments.folder, "components.jsonl"), generator)


if __name__ == "__main__":
    main()
