#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"

namespace dure {
namespace {

using ::testing::HasSubstr;

std::string refusal(std::string_view text) {
  try {
    parse_json(text, "x.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    return error.message();
  }
  return "accepted";
}

TEST(Json, KeepsKeyOrderAndAcceptsAByteOrderMark) {
  const Json value = parse_json("\xEF\xBB\xBF{\"b\":1,\"a\":[true,null,-2,1.5]}", "x.json");
  EXPECT_EQ(value.dump(), R"({"b":1,"a":[true,null,-2,1.5]})");
}

TEST(Json, TakesInfinityForTheLargestNumberWhereThatIsAllowed) {
  const JsonLimits limits{.allow_infinity = true};
  const std::string text = R"({"a": [0.0, Infinity], "b": -Infinity, "Infinity": "\"Infinity"})";
  const Json value = parse_json(text, "x.json", limits);
  EXPECT_EQ(value["a"][1], 1e308);
  EXPECT_EQ(value["b"], -1e308);
  EXPECT_EQ(value["Infinity"], "\"Infinity");
  EXPECT_THROW(parse_json(text, "x.json"), Error);
  EXPECT_THROW(parse_json("[1Infinity]", "x.json", limits), Error);
  EXPECT_THROW(parse_json("[NaN]", "x.json", limits), Error);
}

TEST(Json, RefusesWhatIsNotJsonNamingTheLine) {
  EXPECT_THAT(refusal("{\n\"a\": NaN}"), HasSubstr("x.json: not valid JSON at line 2"));
  EXPECT_THAT(refusal("{} // c"), HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal("{\"a\":\"\xff\"}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal(" \n"), HasSubstr("empty"));
  EXPECT_THAT(refusal("{\"a\":1e400}"), HasSubstr("too large"));
}

TEST(Json, RefusesDuplicateKeysAndDeepNesting) {
  EXPECT_THAT(refusal(R"({"n":32,"m":{"n":1},"n":64})"), HasSubstr("\"n\" appears twice"));
  EXPECT_THAT(refusal(std::string("{}\0{\"n\":1}", 10)), HasSubstr("zero byte at byte 3"));
  EXPECT_THAT(refusal(std::string("{}\0", 3)), HasSubstr("zero byte"));
  EXPECT_THAT(refusal(std::string(20000, '[')), HasSubstr("nested deeper"));
  JsonLimits lax;
  lax.allow_duplicate_keys = true;
  EXPECT_EQ(parse_json(R"({"n":32,"n":64})", "x", lax)["n"], 64);
}

}  // namespace
}  // namespace dure
