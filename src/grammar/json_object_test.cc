// json_object against another JSON parser, on documents that are right, wrong and nearly right.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "grammar/testing.h"

namespace dure::grammar {
namespace {

using testing::matcher_of;
using testing::matches;

TEST(JsonObject, TakesWhatRfc8259Allows) {
  const Matcher matcher = matcher_of(compile_json_object());
  for (const char* text : {"{}", "{ }", R"({"a":1})",
                           "{\n  \"a\" : [ 1 , -2.5e+3 , true , false , null ],\r\n\t\"b\":{}\n}",
                           R"({"":"\"\\\/\b\f\n\r\t\u0041\ud83d\ude00é서😀"})",
                           R"({"a":[[[[]]]],"a":{"b":{"c":[{}]}}})", "{\"\x7F\":0}"}) {
    EXPECT_TRUE(matches(matcher, text)) << text;
  }
}

TEST(JsonObject, TakesNothingElse) {
  const Matcher matcher = matcher_of(compile_json_object());
  for (const char* text : {"",
                           "[]",
                           "1",
                           "\"a\"",
                           "{",
                           "{}}",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{,}",
                           "{a:1}",
                           "{'a':1}",
                           "{\"a\":01}",
                           "{\"a\":1.}",
                           "{\"a\":.5}",
                           "{\"a\":+1}",
                           "{\"a\":NaN}",
                           "{\"a\":Infinity}",
                           "{\"a\":1//c\n}",
                           "{\"a\":True}",
                           "{\"a\":[1,]}",
                           "{\"a\":[1 2]}",
                           "{\"a\" \"b\"}",
                           "{\"a\":\"\\x\"}",
                           "{\"a\":\"\\u12\"}",
                           "{\"a\":\"\n\"}",
                           "{\"a\":\"\x01\"}",
                           "{\"\xC0\x80\":1}",
                           "{\"\xED\xA0\x80\":1}",
                           "{\"a\":\"\xFF\"}",
                           "{} ",
                           " {}"}) {
    EXPECT_FALSE(matches(matcher, text)) << text;
  }
}

TEST(JsonObject, NeverLeavesASurrogateAlone) {
  const Matcher matcher = matcher_of(compile_json_object());
  const auto holds = [&](const std::string& inside) {
    return matches(matcher, "{\"a\":\"" + inside + "\"}");
  };
  EXPECT_TRUE(holds("\\ud83d\\ude00"));
  EXPECT_TRUE(holds("\\uDBFF\\uDFFF"));
  EXPECT_TRUE(holds("\\ud7ff\\ue000"));
  for (const char* text : {"\\ud83d", "\\ude00", "\\ud83dx", "\\ud83d\\n", "\\ud83d\\ud83d\\ude00",
                           "\\ude00\\ud83d", "\\ud83d\\u0041", "\\uDC00"}) {
    EXPECT_FALSE(holds(text)) << text;
  }
}

// Whether text is an object without white space around it, by the other parser.
bool is_object(const std::string& text) {
  if (text.empty() || text.front() != '{' || text.back() != '}') return false;
  try {
    return parse_json(text, "text", {.max_depth = 128, .allow_duplicate_keys = true}).is_object();
  } catch (const Error& error) {
    // Valid JSON whose numbers a double cannot hold.
    return error.message().find("too large for a double") != std::string::npos;
  }
}

TEST(JsonObject, AgreesWithAnotherParserOnDocumentsWithAFewBytesChanged) {
  const Matcher matcher = matcher_of(compile_json_object());
  const std::vector<std::string> seeds{
      R"({"a":1})", R"({"k": [1, 2.5e-3, "x\n\u00e9", true, null], "m": {"n": {}}})",
      R"({"서울":"\ud83d\ude00","b":[[],{}],"c":-0.0E+12})", "{\n \"a\" : [ false , 10 ]\n}"};
  constexpr std::string_view alphabet =
      "{}[]\",:\\/ubn0123456789.eE+-truefalsn \n\tdD8\x80\xEC\x84\x9C\xF0\x01";
  std::mt19937 random(11);
  int right = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string text = seeds[random() % seeds.size()];
    for (auto edits = random() % 3 + 1; edits > 0; --edits) {
      const size_t at = random() % text.size();
      const char c = alphabet[random() % alphabet.size()];
      switch (random() % 3) {
        case 0:
          text[at] = c;
          break;
        case 1:
          text.insert(text.begin() + static_cast<long>(at), c);
          break;
        default:
          if (text.size() > 1) text.erase(at, 1);
      }
    }
    const bool expected = is_object(text);
    right += expected ? 1 : 0;
    ASSERT_EQ(matches(matcher, text), expected) << text;
  }
  EXPECT_GT(right, 5'000);
}

TEST(JsonObject, BoundsWhiteSpaceAndDepth) {
  const Matcher matcher = matcher_of(compile_json_object());
  EXPECT_TRUE(matches(matcher, "{" + std::string(64, ' ') + "}"));
  EXPECT_FALSE(matches(matcher, "{" + std::string(65, ' ') + "}"));
  Matcher deep = matcher;
  ASSERT_TRUE(deep.accept_bytes("{\"a\":"));
  int depth = 0;
  while (depth < 10'000 && deep.accept_bytes("[")) ++depth;
  EXPECT_GE(depth, 200);
  EXPECT_LE(depth, 300);
  // At the bottom, whatever is still allowed leads to an end.
  const auto tokens = testing::byte_tokens();
  testing::expect_exact_mask(deep, *tokens);
  EXPECT_TRUE(deep.accept_bytes(std::string(static_cast<size_t>(depth), ']') + "}"));
  EXPECT_TRUE(deep.must_end());
}

TEST(JsonObject, MasksNearTheDeepestNestingAreExactToo) {
  const auto tokens = testing::mixed_tokens();
  Matcher matcher = matcher_of(compile_json_object(), tokens);
  ASSERT_TRUE(matcher.accept_bytes("{\"a\":"));
  while (true) {
    Matcher next = matcher;
    if (!next.accept_bytes("[{\"a\":")) break;
    matcher = next;
  }
  for (const char* bytes : {"[", "[", "[", "1", ",", "{", "\""}) {
    testing::expect_exact_mask(matcher, *tokens);
    if (!matcher.accept_bytes(bytes)) continue;
  }
  testing::expect_exact_mask(matcher, *tokens);
}

TEST(JsonObject, EveryWalkThroughTheMasksEndsInADocument) {
  for (const auto& tokens : {testing::byte_tokens(), testing::mixed_tokens()}) {
    const Matcher matcher = matcher_of(compile_json_object(), tokens);
    std::mt19937 random(3);
    for (int i = 0; i < 150; ++i) {
      const std::string text = testing::random_walk(matcher, *tokens, random, 40);
      EXPECT_TRUE(is_object(text)) << text;
      EXPECT_TRUE(matches(matcher, text)) << text;
    }
  }
}

}  // namespace
}  // namespace dure::grammar
