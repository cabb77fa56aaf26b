// Input made to be expensive: answered or refused, by the name of what is too large.
#include "grammar/limits.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "grammar/testing.h"

namespace dure::grammar {
namespace {

using ::testing::HasSubstr;
using testing::matcher_of;
using testing::matches;
using testing::refusal;

std::string repeated(std::string_view text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

TEST(Limits, RefuseLongAndDeepPatterns) {
  const auto message = [](const std::string& pattern) {
    return refusal([&] { compile_regex(pattern); }).message();
  };
  EXPECT_THAT(message(std::string(10 << 20, 'a')),
              HasSubstr("a pattern of 10485760 bytes, the limit is 65536"));
  EXPECT_THAT(message(repeated("(", 10'000) + repeated(")", 10'000)),
              HasSubstr("nested deeper than 200"));
  EXPECT_THAT(message("a{1000001}"), HasSubstr("count above 1000000"));
  EXPECT_THAT(message("a{99999999999999999999}"), HasSubstr("count above 1000000"));
  EXPECT_THAT(message("a{0,99999999999999999999}"), HasSubstr("count above 1000000"));
  EXPECT_THAT(message(repeated("[^a]{9}", 9'000)), HasSubstr("more than 300000 states"));
}

TEST(Limits, AnswerNestedRepeatsWithoutWritingThemOut) {
  EXPECT_TRUE(matches(matcher_of(compile_regex("(a{1000}){1000}")), std::string(1'000'000, 'a')));
  EXPECT_FALSE(matches(matcher_of(compile_regex("(a{1000}){1000}")), std::string(999'999, 'a')));
  const Matcher deep = matcher_of(
      compile_regex(repeated("(", 60) + "a" + repeated("{2})", 30) + repeated("{1,3})", 30)));
  Matcher at = deep;
  EXPECT_TRUE(
      matches(matcher_of(compile_regex(repeated("(", 150) + "a" + repeated(")*", 150))), "aaaa"));
}

TEST(Limits, AnswerLongAlternationsAndOptionalParts) {
  std::string words;
  for (int i = 0; i < 6000; ++i) words += fmt::format("{}w{}", i == 0 ? "" : "|", i);
  const Matcher choice = matcher_of(compile_regex(words));
  EXPECT_TRUE(matches(choice, "w0"));
  EXPECT_TRUE(matches(choice, "w5999"));
  EXPECT_FALSE(matches(choice, "w6000"));
  EXPECT_TRUE(matches(matcher_of(compile_regex(repeated("a?", 3000) + repeated("a", 3000))),
                      std::string(3000, 'a')));
}

TEST(Limits, RefuseLongAndDeepSchemas) {
  const auto message = [](const std::string& schema) {
    return refusal([&] { compile_json_schema(schema); }).message();
  };
  EXPECT_THAT(message(std::string(1 << 20, ' ') + "{}"), HasSubstr("the limit is 524288"));
  EXPECT_THAT(message(repeated("{\"items\":", 5000) + "{}" + repeated("}", 5000)),
              HasSubstr("nested deeper"));
  EXPECT_THAT(message(R"({"maxItems":10000000})"), HasSubstr("above the limit"));
  std::string many;
  for (int i = 0; i < 1001; ++i) many += fmt::format("{}\"p{}\":{{}}", i == 0 ? "" : ",", i);
  EXPECT_THAT(message("{\"properties\":{" + many + "}}"), HasSubstr("more than 1000 properties"));
  // Each anyOf doubles the alternatives.
  const std::string pair = R"({"anyOf":[{"minimum":1},{"minLength":1}]})";
  EXPECT_THAT(message("{\"allOf\":[" + pair + repeated("," + pair, 40) + "]}"),
              HasSubstr("combines to more than"));
  std::string chain = "{\"$ref\":\"#/$defs/d0\",\"$defs\":{";
  for (int i = 0; i < 1000; ++i)
    chain += fmt::format("\"d{}\":{{\"$ref\":\"#/$defs/d{}\"}},", i, i + 1);
  EXPECT_THAT(message(chain + "\"d1000\":{}}}"), HasSubstr("circle"));
}

TEST(Limits, AnswerLargeSchemas) {
  std::string many;
  for (int i = 0; i < 1000; ++i)
    many += fmt::format("{}\"p{}\":{{\"type\":\"integer\"}}", i == 0 ? "" : ",", i);
  const auto tokens = testing::mixed_tokens();
  Matcher wide = matcher_of(compile_json_schema("{\"properties\":{" + many +
                                                "},\"additionalProperties\":{\"type\":\"null\"}}"),
                            tokens);
  EXPECT_TRUE(matches(wide, R"({"p0":1,"p500":2,"p999":3,"q":null})"));
  EXPECT_FALSE(matches(wide, R"({"p0":1,"p500":2,"p499":3})"));
  ASSERT_TRUE(wide.accept_bytes("{\"p7"));
  testing::expect_exact_mask(wide, *tokens);

  std::string chain = "{\"$ref\":\"#/$defs/d0\",\"$defs\":{";
  for (int i = 0; i < 5000; ++i)
    chain += fmt::format("\"d{}\":{{\"items\":{{\"$ref\":\"#/$defs/d{}\"}}}},", i, i + 1);
  const Matcher deep = matcher_of(compile_json_schema(chain + "\"d5000\":{\"type\":\"null\"}}}"));
  EXPECT_TRUE(matches(deep, "[[[]]]"));

  std::string values = "\"v\"";
  for (int i = 0; i < 20'000; ++i) values += fmt::format(",\"value {}\"", i);
  const Matcher listed = matcher_of(compile_json_schema("{\"enum\":[" + values + "]}"));
  EXPECT_TRUE(matches(listed, "\"value 19999\""));
  EXPECT_FALSE(matches(listed, "\"value 20000\""));

  const Matcher text = matcher_of(
      compile_json_schema(R"({"type":"string","minLength":100000,"maxLength":1000000})"));
  EXPECT_FALSE(matches(text, "\"" + std::string(99'999, 'a') + "\""));
  EXPECT_TRUE(matches(text, "\"" + std::string(100'000, 'a') + "\""));
}

TEST(Limits, RefusePatternsWhoseLengthMultipliesThem) {
  EXPECT_THAT(refusal([] {
                compile_json_schema(
                    R"({"type":"string","pattern":"^(a{0,100}b){0,100}$","maxLength":5000})");
              }).message(),
              HasSubstr("together with its length"));
}

TEST(Limits, RefuseLongAndDeepGrammars) {
  const auto message = [](const std::string& grammar) {
    return refusal([&] { compile_ebnf(grammar); }).message();
  };
  EXPECT_THAT(message(std::string(1 << 20, ' ')), HasSubstr("the limit is 262144"));
  EXPECT_THAT(message("root ::= " + repeated("(", 5000)), HasSubstr("nested deeper than 200"));
  EXPECT_THAT(message("root ::= \"a\"" + repeated("*", 50)), HasSubstr("repetition marks"));
  EXPECT_THAT(message("root ::= [^a]" + repeated(" [^a]", 40'000)), HasSubstr("states"));
  const auto chain = [](int rules) {
    std::string text = "root ::= r0\n";
    for (int i = 0; i < rules; ++i) text += fmt::format("r{} ::= r{} | \"x\"\n", i, i + 1);
    return text + fmt::format("r{} ::= ", rules);
  };
  EXPECT_TRUE(matches(matcher_of(compile_ebnf(chain(3000) + "\"end\"")), "end"));
  EXPECT_THAT(message(chain(5000) + "\"end\""), HasSubstr("begins with more than 4096 parses"));
  EXPECT_THAT(message(chain(3000) + "r0"), HasSubstr("left recursion"));
}

}  // namespace
}  // namespace dure::grammar
