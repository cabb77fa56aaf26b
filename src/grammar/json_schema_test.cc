// Schemas: what each keyword allows and forbids, what is refused, and the cases from the field.
#include <gmock/gmock.h>

#include "grammar/testing.h"

namespace dure::grammar {
namespace {

using testing::Case;
using ::testing::HasSubstr;
using testing::matcher_of;
using testing::matches;
using testing::refusal;

void check(const std::vector<Case>& cases) {
  testing::check(cases, compile_json_schema);
}

TEST(JsonSchema, HoldsToTypes) {
  check(
      {{R"({"type":"string"})", {"\"\"", "\"a\\n\""}, {"1", "null", "\"", "\"\n\""}},
       {R"({"type":"integer"})",
        {"0", "-17", "123456789012345678901"},
        {"1.5", "01", "-", "1e3", "\"1\""}},
       {R"({"type":"boolean"})", {"true", "false"}, {"True", "null", "0"}},
       {R"({"type":"null"})", {"null"}, {"false", "nul"}},
       {R"({"type":["integer","null","boolean"]})", {"1", "null", "true"}, {"\"\"", "1.5", "[]"}},
       {R"({"type":"number","multipleOf":1})", {"1"}, {"1.5"}},
       {R"({"type":"object"})", {"{}", R"({"a":[1,{"b": null}]})"}, {"[]", "{ }"}},
       {R"({"type":"array"})", {"[]", R"([1, "a",{}])"}, {"{}", "[1,]"}},
       {"true", {"1", "{}", "\"a\""}, {""}},
       {"{}", {"1", "[null]"}, {""}},
       {R"({"type":"string","nullable":true})", {"\"a\"", "null"}, {"1"}},
       {R"({"title":"t","description":"d","default":3,"examples":[1],"$comment":"c","x-y":1,"type":"null"})",
        {"null"},
        {"3"}}});
}

TEST(JsonSchema, HoldsToObjects) {
  check(
      {{R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"boolean"},"c":{"type":"null"}},"required":["b"]})",
        {R"({"b":true})", R"({"a":1,"b":true,"c":null})", R"({"a": 1, "b": false})",
         R"({"b":true,"c":null})"},
        {"{}", R"({"a":1})", R"({"b":true,"a":1})", R"({"b":true,})", R"({"b":true,"d":1})",
         R"({"b":1})", R"({ "b":true})", R"({"b" :true})", R"({"b":  true})",
         R"({"b":true,"b":true})"}},
       {R"({"properties":{"a":{"type":"integer"}},"additionalProperties":{"type":"boolean"}})",
        {"{}", R"({"a":1})", R"({"a":1,"b":true})", R"({"aa":true,"":false})", R"({"\n":true})"},
        {R"({"a":true})", R"({"b":1})", R"({"b":true,"a":1})", R"({"\u0061":true})",
         R"({"a":1,"a":true})"}},
       {R"({"properties":{"\"q\\":{"type":"null"},"é":{"type":"null"}},"additionalProperties":{"type":"boolean"}})",
        {R"({"\"q\\":null,"é":null,"\"q":true})"},
        {R"({"\"q\\":true})", R"({"é":true})"}},
       {R"({"type":"object","required":["z"],"properties":{"a":{"type":"null"}}})",
        {R"({"z":[1]})", R"({"a":null,"z":0})"},
        {"{}", R"({"a":null})", R"({"z":0,"a":null})"}},
       {R"({"type":"object","additionalProperties":false})", {"{}"}, {R"({"a":1})"}},
       {R"({"type":"object","additionalProperties":{"type":"integer"},"minProperties":1,"maxProperties":2})",
        {R"({"a":1})", R"({"a":1,"b":2})"},
        {"{}", R"({"a":1,"b":2,"c":3})", R"({"a":"x"})"}},
       {R"({"type":"object","propertyNames":{"pattern":"^[ab]+$"},"additionalProperties":{"type":"null"}})",
        {"{}", R"({"ab":null})"},
        {R"({"c":null})", R"({"a":1})"}},
       {R"({"type":"object","patternProperties":{"^x_":{"type":"integer"}},"additionalProperties":false})",
        {"{}", R"({"x_":1,"x_a\n":2})"},
        {R"({"y":1})", R"({"x_":null})"}},
       {R"({"type":"object","properties":{"a":false,"b":true}})",
        {"{}", R"({"b":1})"},
        {R"({"a":1})"}}});
}

TEST(JsonSchema, HoldsToArrays) {
  check(
      {{R"({"type":"array","items":{"type":"integer"}})",
        {"[]", "[1]", "[1, 2,3]"},
        {"[null]", "[1 ,2]", "[1,  2]", "[ 1]"}},
       {R"({"items":{"type":"null"},"minItems":2,"maxItems":3})",
        {"[null,null]", "[null,null,null]"},
        {"[]", "[null]", "[null,null,null,null]"}},
       {R"({"type":"array","maxItems":0})", {"[]"}, {"[1]"}},
       {R"({"type":"array","items":false})", {"[]"}, {"[1]"}},
       {R"({"type":"array","minItems":1})", {"[1]", "[1,{}]"}, {"[]"}},
       {R"({"prefixItems":[{"type":"integer"},{"type":"boolean"}],"minItems":1})",
        {"[1]", "[1,true]"},
        {"[]", "[true]", "[1,true,1]"}},
       {R"({"prefixItems":[{"type":"integer"}],"items":{"type":"null"},"minItems":2,"maxItems":3})",
        {"[1,null]", "[1,null,null]"},
        {"[1]", "[1,1]", "[1,null,null,null]"}},
       {R"({"items":[{"type":"integer"}],"additionalItems":{"type":"null"}})",
        {"[]", "[1]", "[1,null]"},
        {"[1,1]"}},
       {R"({"type":"array","items":{"type":"array","items":{"type":"integer"},"maxItems":2},"minItems":40,"maxItems":41})",
        {"[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[1],[1,2],[],[],[],[],[],[],"
         "[],[],[],[],[],[],[],[],[],[],[],[]]"},
        {"[]",
         "[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[1],[1,2],[],[],[],[],[],[],"
         "[],[],[],[],[],[],[],[],[],[],[]]"}}});
}

TEST(JsonSchema, HoldsToStrings) {
  check({{R"({"type":"string","minLength":2,"maxLength":3})",
          {"\"ab\"", "\"서울역\"", "\"\\n\\n\""},
          {"\"a\"", "\"abcd\"", "\"\\n\""}},
         {R"({"type":"string","pattern":"^a+$"})", {"\"aa\""}, {"\"\"", "\"ba\""}},
         {R"({"type":"string","pattern":"b"})",
          {"\"abc\"", "\"b\"", "\"\\n\\\"b\""},
          {"\"ac\"", "\"\""}},
         {R"({"type":"string","pattern":"^a|b$"})", {"\"ax\"", "\"xb\""}, {"\"xa\"", "\"bx\""}},
         {R"({"type":"string","pattern":"^[\"\\\\\\n]$"})",
          {R"("\"")", R"("\\")", R"("\n")"},
          {"\"\n\"", R"("n")", R"("\u000a")"}},
         {R"({"type":"string","pattern":"^.$"})",
          {"\"é\"", R"("\"")", R"("\u001f")", "\"😀\""},
          {R"("\n")", "\"ab\"", "\"\x1F\""}},
         {R"({"type":"string","pattern":"^(ab|c)*$","minLength":3,"maxLength":4})",
          {"\"abc\"", "\"abab\"", "\"cccc\""},
          {"\"ab\"", "\"ababc\"", "\"abb\""}},
         {R"({"type":"string","pattern":"x","minLength":3})",
          {"\"xab\"", "\"aabx\""},
          {"\"x\"", "\"abc\""}},
         {R"({"type":"string","format":"date"})",
          {"\"2024-02-29\"", "\"1999-12-31\""},
          {"\"2023-02-29\"", "\"1900-02-29\"", "\"2024-13-01\"", "\"2024-04-31\"", "\"2024-1-1\""}},
         {R"({"type":"string","format":"time"})",
          {"\"23:59:59Z\"", "\"00:00:00.123+09:00\""},
          {"\"24:00:00Z\"", "\"12:00\"", "\"12:00:00\""}},
         {R"({"type":"string","format":"date-time"})",
          {"\"2024-02-29T10:00:00Z\""},
          {"\"2024-02-29 10:00:00Z\"", "\"2024-02-30T10:00:00Z\""}},
         {R"({"type":"string","format":"duration"})",
          {"\"P1Y2M3DT4H5M6S\"", "\"PT5M\"", "\"P2W\""},
          {"\"P\"", "\"PT\"", "\"P1S\""}},
         {R"({"type":"string","format":"uuid"})",
          {"\"123e4567-e89b-12d3-a456-426614174000\""},
          {"\"123e4567e89b12d3a456426614174000\""}},
         {R"({"type":"string","format":"email"})",
          {"\"a.b+c@example.org\""},
          {"\"a@\"", "\"@b\"", "\"a b@c\"", "\"a..b@c\""}},
         {R"({"type":"string","format":"hostname"})",
          {"\"a-b.example\""},
          {"\"-a\"", "\"a-\"", "\"a..b\""}},
         {R"({"type":"string","format":"ipv4"})",
          {"\"255.0.10.1\""},
          {"\"256.0.0.1\"", "\"1.2.3\"", "\"01.2.3.4\""}},
         {R"({"type":"string","format":"ipv6"})",
          {"\"::\"", "\"::1\"", "\"2001:db8::1\"", "\"1:2:3:4:5:6:7:8\"", "\"::ffff:1.2.3.4\"",
           "\"1::\""},
          {"\"1::2::3\"", "\"1:2:3:4:5:6:7\"", "\":1\"", "\"12345::\""}},
         {R"({"type":"string","format":"uri"})",
          {"\"https://example.org:80/a/b?c=d#e\"", "\"mailto:a@b.c\"", "\"http://a/%20\""},
          {"\"//a\"", "\"http://a b\"", "\"http://a/%2\"", "\"1:a\""}},
         {R"({"type":"string","format":"password"})", {"\"anything\""}, {"1"}},
         {R"({"type":"string","format":"date","minLength":10})", {"\"2024-02-29\""}, {"\"\""}}});
}

TEST(JsonSchema, HoldsToListedValues) {
  check(
      {{R"({"enum":["a",1,null,true,[1,{"b":"c"}],1.5]})",
        {"\"a\"", "1", "null", "true", R"([1,{"b":"c"}])", R"([1, {"b": "c"}])", "1.5"},
        {"\"b\"", "2", "false", "[1]", "1.50"}},
       {R"({"const":{"a":[],"b":{}}})", {R"({"a":[],"b":{}})"}, {"{}", R"({"b":{},"a":[]})"}},
       {R"({"type":"string","enum":["a",1,"b"]})", {"\"a\"", "\"b\""}, {"1"}},
       {R"({"type":"integer","enum":[1,5,9],"minimum":2,"exclusiveMaximum":9})", {"5"}, {"1", "9"}},
       {R"({"enum":["a\"\\\n\u0001"]})", {R"("a\"\\\n\u0001")"}, {"\"a\""}},
       {R"({"enum":["a","ab","abc"],"maxLength":2})", {"\"a\"", "\"ab\""}, {"\"abc\""}}});
}

TEST(JsonSchema, CombinesSchemas) {
  check(
      {{R"({"anyOf":[{"type":"integer"},{"type":"string","maxLength":1}]})",
        {"1", "\"a\""},
        {"\"ab\"", "null"}},
       {R"({"anyOf":[{"type":"integer"},{"type":"number"}]})", {"1", "1.5"}, {"null"}},
       {R"({"oneOf":[{"type":"integer"},{"type":"null"}]})", {"1", "null"}, {"true"}},
       {R"({"oneOf":[{"type":"object","properties":{"k":{"const":"a"},"x":{"type":"null"}},"required":["k"]},
                       {"type":"object","properties":{"k":{"const":"b"}},"required":["k"]}]})",
        {R"({"k":"a","x":null})", R"({"k":"b"})"},
        {R"({"k":"b","x":null})", "{}"}},
       {R"({"oneOf":[{"type":"object","properties":{"a":{"type":"null"}},"required":["a"]},
                       {"type":"object","properties":{"b":{"type":"null"}},"required":["b"]}]})",
        {R"({"a":null})", R"({"b":null})"},
        {"{}", R"({"a":null,"b":null})"}},
       {R"({"allOf":[{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},
                       {"properties":{"b":{"type":"null"},"a":{"minimum":3}}}]})",
        {R"({"a":3})", R"({"a":4,"b":null})"},
        {R"({"a":2})", R"({"b":null})"}},
       {R"({"type":"integer","allOf":[{"minimum":2},{"maximum":4},{"minimum":1}]})",
        {"2", "4"},
        {"1", "5"}},
       {R"({"type":"object","properties":{"a":{"type":"null"},"b":{"type":"null"}},
              "anyOf":[{"required":["a"]},{"required":["b"]}]})",
        {R"({"a":null})", R"({"b":null})", R"({"a":null,"b":null})"},
        {"{}"}},
       {R"({"allOf":[{"additionalProperties":false,"properties":{"a":{"type":"null"}}},{"properties":{"b":{"type":"null"}}}]})",
        {"{}", R"({"a":null})"},
        {R"({"b":null})"}},
       {R"({"$defs":{"s":{"type":"string"}},"$ref":"#/$defs/s","maxLength":1})",
        {"\"a\""},
        {"\"ab\""}},
       {R"({"definitions":{"a/b~c d":{"type":"null"}},"$ref":"#/definitions/a~1b~0c%20d"})",
        {"null"},
        {"1"}},
       {R"({"allOf":[{"type":"string"},{"enum":["a",1]}]})", {"\"a\""}, {"1"}}});
}

TEST(JsonSchema, RecursesThroughReferences) {
  check(
      {{R"({"type":"object","properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},"required":["v"]})",
        {R"({"v":1,"next":{"v":2,"next":null}})", R"({"v":1})"},
        {R"({"v":1,"next":{}})"}},
       {R"({"$ref":"#/$defs/tree","$defs":{"tree":{"type":"array","items":{"$ref":"#/$defs/tree"}}}})",
        {"[[],[[]]]"},
        {"[1]", "[[]"}},
       {R"({"$ref":"#/$defs/a","$defs":{"a":{"properties":{"b":{"allOf":[{"$ref":"#/$defs/a"},{"required":["c"]}]},"c":{"type":"null"}}}}})",
        {"{}", R"({"b":{"c":null}})", R"({"b":{"b":{"c":null},"c":null}})"},
        {R"({"b":{}})"}}});
}

// Unicode is raw in what the schema spells, however it was spelled there.
TEST(JsonSchema, SpellsValuesAndNamesRawThatWereSentAsEscapes) {
  const Matcher cities =
      matcher_of(compile_json_schema(R"({"enum":["\uc11c\uc6b8","\ub3c4\ucfc4"]})"));
  EXPECT_TRUE(matches(cities, "\"서울\""));
  EXPECT_TRUE(matches(cities, "\"도쿄\""));
  EXPECT_FALSE(matches(cities, "\"??\""));
  EXPECT_FALSE(matches(cities, R"("\uc11c\uc6b8")"));
  const Matcher named = matcher_of(compile_json_schema(
      R"({"type":"object","properties":{"\ub3c4\uc2dc":{"enum":["\ud83d\ude00"]}},"required":["\ub3c4\uc2dc"]})"));
  EXPECT_TRUE(matches(named, "{\"도시\":\"😀\"}"));
  EXPECT_FALSE(matches(named, "{\"??\":\"😀\"}"));
  const auto tokens = testing::byte_tokens();
  std::mt19937 random(1);
  for (int i = 0; i < 20; ++i) {
    const std::string text = testing::random_walk(cities, *tokens, random, 10);
    EXPECT_TRUE(text == "\"서울\"" || text == "\"도쿄\"") << text;
  }
}

TEST(JsonSchema, CountsCharactersHoweverTheyAreWritten) {
  const Matcher one = matcher_of(compile_json_schema(R"({"type":"string","maxLength":1})"));
  for (const char* text :
       {R"("")", R"("\n")", R"("\u0041")", R"("\ud83d\ude00")", "\"😀\"", "\"서\"", R"("\"")"}) {
    EXPECT_TRUE(matches(one, text)) << text;
  }
  for (const char* text : {R"("ab")", R"("\n\n")", R"("\u0041b")", R"("\ud83d\ude00x")", "\"😀😀\"",
                           "\"\n\"", "\"\t\"", R"("\ud83d")", R"("\ude00")"}) {
    EXPECT_FALSE(matches(one, text)) << text;
  }
}

TEST(JsonSchema, StandsBetweenLiteralTexts) {
  const Matcher fresh =
      matcher_of(compile_framed_schemas(
                     {{"<f>", R"({"type":"integer"})", "</f>"},
                      {"<g>", R"({"properties":{"a":{"type":"null"}},"type":"object"})", ""}}),
                 testing::byte_tokens());
  EXPECT_TRUE(matches(fresh, "<f>12</f>"));
  EXPECT_TRUE(matches(fresh, "<g>{}"));
  EXPECT_TRUE(matches(fresh, R"(<g>{"a":null})"));
  EXPECT_FALSE(matches(fresh, "<f>12"));
  EXPECT_FALSE(matches(fresh, "<f>{}</f>"));
  EXPECT_FALSE(matches(fresh, "<g>12</f>"));
  EXPECT_FALSE(matches(fresh, ""));
  EXPECT_EQ(refusal([] { compile_framed_schemas({}); }).code(), ErrorCode::bad_input);
  EXPECT_EQ(refusal([] { compile_framed_schemas({{"a", R"({"not":{}})", ""}}); }).field(), "/not");
}

TEST(JsonSchema, RefusesWhatItDoesNotHoldToByPath) {
  const auto error = [](const std::string& schema) {
    return refusal([&] { compile_json_schema(schema); });
  };
  for (const char* keyword :
       {"not", "if", "then", "else", "contains", "dependentRequired", "dependentSchemas",
        "dependencies", "unevaluatedItems", "$dynamicRef", "madeUp", "minContains"}) {
    const Error refused = error(R"({"properties":{"a/b":{")" + std::string(keyword) + R"(":{}}}})");
    EXPECT_EQ(refused.code(), ErrorCode::bad_input);
    EXPECT_EQ(refused.field(), "/properties/a~1b/" + std::string(keyword));
    EXPECT_THAT(refused.message(), HasSubstr(keyword));
  }
  EXPECT_EQ(error(R"({"items":{"uniqueItems":true}})").field(), "/items/uniqueItems");
  EXPECT_EQ(error(R"({"multipleOf":0.1})").field(), "/multipleOf");
  EXPECT_EQ(error(R"({"type":"strong"})").field(), "/type");
  EXPECT_EQ(error(R"({"type":"string","format":"regex"})").field(), "/format");
  EXPECT_EQ(error(R"({"properties":{"a":1}})").field(), "/properties");
  EXPECT_EQ(error(R"({"required":"a"})").field(), "/required");
  EXPECT_EQ(error(R"({"minLength":-1})").field(), "/minLength");
  EXPECT_EQ(error(R"({"maxLength":1e9})").field(), "/maxLength");
  EXPECT_EQ(error(R"({"type":"array","minItems":3,"maxItems":2})").field(), "/minItems");
  EXPECT_EQ(error(R"({"type":"string","minLength":3,"maxLength":2})").field(), "/minLength");
  EXPECT_EQ(error(R"({"enum":[]})").field(), "/enum");
  EXPECT_EQ(error(R"({"anyOf":[{"$ref":"#/$defs/x"}]})").field(), "/anyOf/0/$ref");
  EXPECT_EQ(error(R"({"$ref":"http://x/y"})").field(), "/$ref");
  EXPECT_EQ(error(R"({"anyOf":[{"$ref":"#"}],"type":"null"})").message().find("json_schema: at"),
            0U);
  EXPECT_EQ(error(R"({"oneOf":[{"type":"integer"},{"type":"number"}]})").field(), "/oneOf");
  EXPECT_EQ(error(R"({"oneOf":[{"properties":{"a":true}},{"properties":{"b":true}}]})").field(),
            "/oneOf");
  EXPECT_EQ(error(R"({"properties":{"a":true},"patternProperties":{"x":true}})").field(),
            "/patternProperties");
  EXPECT_EQ(error(R"({"properties":{"a":true},"minProperties":1})").field(), "/minProperties");
  EXPECT_EQ(error(R"({"enum":[{}],"required":["a"]})").field(), "/const");
  EXPECT_THAT(error(R"({"pattern":"(a)\\1"})").message(), HasSubstr("back-reference"));
  EXPECT_THAT(error("false").message(), HasSubstr("no text at all"));
  EXPECT_THAT(
      error(R"({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]})").message(),
      HasSubstr("no text at all"));
  EXPECT_THAT(error(R"({"type":"string","enum":[1]})").message(), HasSubstr("no text at all"));
  EXPECT_THAT(error("{").message(), HasSubstr("not valid JSON"));
  EXPECT_THAT(error(R"({"enum":["\ud800"]})").message(), HasSubstr("not valid JSON"));
  EXPECT_THAT(error("1").message(), HasSubstr("must be an object"));
}

}  // namespace
}  // namespace dure::grammar
