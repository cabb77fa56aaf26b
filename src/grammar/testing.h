// What the tests of this folder share: small vocabularies and short questions to a matcher.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "grammar/grammar.h"
#include "grammar/matcher.h"

namespace dure::grammar::testing {

// Token i is the byte i.
inline std::shared_ptr<const TokenTrie> byte_tokens() {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  return std::make_shared<TokenTrie>(tokens);
}

// The bytes, and tokens as real vocabularies have them: words, punctuation that closes several
// things at once, characters cut in the middle; one special token without bytes.
inline std::shared_ptr<const TokenTrie> mixed_tokens() {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  for (const char* token : {"",
                            "a",
                            "ab",
                            "aab",
                            "bb",
                            "true",
                            "false",
                            "null",
                            "\"",
                            "\":",
                            "\": ",
                            "\", \"",
                            "\"}",
                            "\"}]",
                            "}}",
                            "]}",
                            "]]",
                            "[[",
                            "{\"",
                            "[{\"",
                            ",\"",
                            ", ",
                            " ",
                            "  ",
                            "\n  ",
                            "\n",
                            "12",
                            "123",
                            "0.5",
                            "-1",
                            "e",
                            "e5",
                            "E+",
                            "00",
                            "\\n",
                            "\\u00",
                            "\\ud83d",
                            "\\ude00",
                            "\\\"",
                            "\\",
                            "\xEC\x84",
                            "\x9C\xEC",
                            "\xEC\x84\x9C\xEC\x9A\xB8",
                            "\xF0\x9F\x98",
                            "\x80",
                            "na",
                            "name",
                            "\"name\"",
                            "age",
                            "x\"",
                            "x\":",
                            "x\", ",
                            "1,",
                            "1, ",
                            "1]",
                            "1}",
                            "{}",
                            "[]",
                            "\":1}",
                            "\":{\"",
                            "\":[",
                            "null}",
                            "true,"}) {
    tokens.emplace_back(token);
  }
  return std::make_shared<TokenTrie>(tokens);
}

inline Matcher matcher_of(std::shared_ptr<const Grammar> grammar,
                          std::shared_ptr<const TokenTrie> tokens = byte_tokens()) {
  return Matcher(std::make_shared<Constraint>(std::move(grammar), std::move(tokens)));
}

inline bool matches(const Matcher& fresh, std::string_view text) {
  Matcher matcher = fresh;
  return matcher.accept_bytes(text) && matcher.may_end();
}

inline std::vector<uint32_t> allowed(const Matcher& matcher, const TokenTrie& tokens) {
  std::vector<uint64_t> mask(tokens.mask_words());
  matcher.fill_mask(mask);
  std::vector<uint32_t> out;
  for (uint32_t id = 0; id < tokens.vocabulary_size(); ++id) {
    if (mask[id / 64] >> id % 64 & 1) out.push_back(id);
  }
  return out;
}

// The mask holds exactly the tokens that can be accepted one by one.
inline void expect_exact_mask(const Matcher& matcher, const TokenTrie& tokens) {
  std::vector<uint32_t> expected;
  for (uint32_t id = 0; id < tokens.vocabulary_size(); ++id) {
    Matcher copy = matcher;
    if (copy.accept(id)) expected.push_back(id);
  }
  EXPECT_EQ(allowed(matcher, tokens), expected);
}

// Draws tokens from the masks until the grammar can end, then ends with some chance. After
// `patience` tokens it ends for certain, and closes strings, objects and arrays where it may.
// Checks at each step that there is a way on, and that what was drawn is accepted.
inline std::string random_walk(const Matcher& fresh, const TokenTrie& tokens, std::mt19937& random,
                               int patience) {
  Matcher matcher = fresh;
  std::string text;
  for (int step = 0;; ++step) {
    if (matcher.may_end() && (matcher.must_end() || step >= patience || random() % 4 == 0)) {
      return text;
    }
    const std::vector<uint32_t> choices = allowed(matcher, tokens);
    EXPECT_FALSE(choices.empty()) << text;
    if (choices.empty() || step > patience * 50) return text;
    uint32_t token = choices[random() % choices.size()];
    for (const char closing :
         step >= patience && random() % 4 != 0 ? std::string_view("\"}]") : std::string_view()) {
      const auto found = std::ranges::find_if(
          choices, [&](uint32_t id) { return tokens.bytes(id) == std::string_view(&closing, 1); });
      if (found == choices.end()) continue;
      token = *found;
      break;
    }
    EXPECT_TRUE(matcher.accept(token)) << text << " + " << tokens.bytes(token);
    text += tokens.bytes(token);
  }
}

// The error of a call that must be refused.
inline Error refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "not refused";
  return Error(ErrorCode::failed, "not refused");
}

// What a source of a grammar allows and forbids.
struct Case {
  const char* source;
  std::vector<const char*> allowed;
  std::vector<const char*> forbidden;
};

// Each by itself; and the masks at the start and along the first allowed text, byte by byte.
template <typename Compile>
void check(const std::vector<Case>& cases, Compile compile) {
  const auto tokens = mixed_tokens();
  for (const Case& one : cases) {
    SCOPED_TRACE(one.source);
    const Matcher matcher = matcher_of(compile(one.source), tokens);
    for (const char* text : one.allowed) EXPECT_TRUE(matches(matcher, text)) << text;
    for (const char* text : one.forbidden) EXPECT_FALSE(matches(matcher, text)) << text;
    Matcher along = matcher;
    expect_exact_mask(along, *tokens);
    for (const char* at = one.allowed.empty() ? "" : one.allowed[0]; *at != 0; ++at) {
      ASSERT_TRUE(along.accept_bytes(std::string_view(at, 1)));
      expect_exact_mask(along, *tokens);
    }
  }
}

}  // namespace dure::grammar::testing
