// Fuzzes the compilers and the matcher. Input: one byte for the kind of constraint, the constraint,
// a NUL byte, then bytes that choose among the allowed tokens. Whatever is not refused must hold
// its promises: masks and acceptance agree, there is always a way on, and both stay within their
// bounds.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "grammar/grammar.h"
#include "grammar/matcher.h"

namespace {

using namespace dure::grammar;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

std::shared_ptr<const TokenTrie> tokens() {
  std::vector<std::string> out;
  for (int byte = 0; byte < 256; ++byte) out.emplace_back(1, static_cast<char>(byte));
  for (const char* text :
       {"",   "aa", "ab",   "ba",   "aab", "\"}", "\": ",  "\", \"",   "{\"",          "[[",
        "]]", "}}", "true", "null", "12",  "0.5", "\\u00", "\xEC\x84", "\x9C\xEC\x9A", "    "}) {
    out.emplace_back(text);
  }
  return std::make_shared<TokenTrie>(out);
}

std::shared_ptr<const Grammar> compile(uint8_t kind, std::string_view text) {
  switch (kind % 5) {
    case 0:
      return compile_regex(text);
    case 1:
      return compile_json_schema(text);
    case 2:
      return compile_ebnf(text);
    case 3:
      return compile_json_object();
    default: {
      std::vector<std::string> texts;
      for (size_t at = 0; at <= text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        texts.emplace_back(text.substr(at, end - at));
        at = end + 1;
      }
      return compile_choice(texts);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto trie = tokens();
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data + 1), size - 1);
  const size_t cut = std::min(input.find('\0'), input.size());
  std::string_view choices = input.substr(std::min(cut + 1, input.size()));
  std::shared_ptr<const Constraint> constraint;
  try {
    constraint = std::make_shared<Constraint>(compile(data[0], input.substr(0, cut)), trie);
  } catch (const dure::Error& error) {
    require(error.code() == dure::ErrorCode::bad_input && !error.message().empty());
    return 0;
  }
  Matcher matcher(constraint);
  std::vector<uint64_t> mask(trie->mask_words());
  for (size_t step = 0; step < 64; ++step) {
    matcher.fill_mask(mask);
    std::vector<uint32_t> allowed;
    for (uint32_t id = 0; id < trie->vocabulary_size(); ++id) {
      if (mask[id / 64] >> id % 64 & 1) allowed.push_back(id);
    }
    require(matcher.must_end() == allowed.empty());
    require(matcher.bytes() < 100'000);
    if (allowed.empty()) {
      require(matcher.may_end());
      return 0;
    }
    const size_t choice = step < choices.size() ? static_cast<uint8_t>(choices[step]) : step;
    // What the mask forbids is refused, and what it allows is taken.
    const auto other = static_cast<uint32_t>(choice * 7 % trie->vocabulary_size());
    Matcher copy = matcher;
    const bool taken = copy.accept(other);
    require(taken == ((mask[other / 64] >> other % 64 & 1) != 0));
    require(matcher.accept(allowed[choice % allowed.size()]));
  }
  return 0;
}
