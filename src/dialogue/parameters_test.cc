// Types from schemas, and values written as plain text or as Python.
#include "dialogue/parameters.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "dialogue/python_literal.h"
#include "dialogue/test_answers.h"

namespace dure {

Tool tool_with(const std::string& name, const std::string& properties) {
  const Json schema = parse_json(R"({"type": "object", "properties": )" + properties + "}", "test");
  return {.name = name, .parameters = std::make_shared<const Json>(schema)};
}

namespace dialogue {
namespace {

std::string types(const std::string& schema) {
  const std::vector<Tool> tools = {tool_with("f", R"({"x": )" + schema + "}")};
  const ParameterTypes found = types_of(tools, "f", "x");
  std::string text;
  if (found.string) text += 's';
  if (found.integer) text += 'i';
  if (found.number) text += 'n';
  if (found.boolean) text += 'b';
  if (found.object) text += 'o';
  if (found.array) text += 'a';
  if (found.null) text += '0';
  return text;
}

TEST(ParameterTypes, ComeFromEveryWayToSayThem) {
  EXPECT_EQ(types(R"({"type": "string"})"), "s");
  EXPECT_EQ(types(R"({"type": ["integer", "null"]})"), "i0");
  EXPECT_EQ(types(R"({"type": "number", "nullable": true})"), "n0");
  EXPECT_EQ(types(R"({"enum": ["a", 1, null, true]})"), "sib0");
  EXPECT_EQ(types(R"({"const": [1]})"), "a");
  EXPECT_EQ(types(R"({"anyOf": [{"type": "string"}, {"oneOf": [{"type": "boolean"}]}]})"), "sb");
  EXPECT_EQ(types(R"({"allOf": [{"properties": {}}]})"), "o");
  EXPECT_EQ(types("{}"), "sinboa0");
  EXPECT_EQ(types("true"), "sinboa0");
  EXPECT_EQ(types(R"({"type": "strange"})"), "sinboa0");
}

TEST(ParameterTypes, FollowReferencesAndSurviveCircles) {
  const Json schema = parse_json(R"({"properties": {
      "x": {"$ref": "#/$defs/city"}, "y": {"$ref": "#/properties/y"}, "z": {"$ref": "#/nowhere"},
      "w": {"$ref": "http://elsewhere"}, "v": {"$ref": "#~bad"}},
      "$defs": {"city": {"type": "string"}}})",
                                 "test");
  const Tool tool = {.name = "f", .parameters = std::make_shared<const Json>(schema)};
  EXPECT_TRUE(types_of({tool}, "f", "x").only_string());
  for (const char* name : {"y", "z", "w", "v", "missing"}) {
    EXPECT_TRUE(types_of({tool}, "f", name).object) << name;
  }
  EXPECT_TRUE(types_of({tool}, "g", "x").object);
  EXPECT_TRUE(types_of({{.name = "f", .parameters = nullptr}}, "f", "x").object);
}

TEST(ParameterTypes, OfAHugeSchemaAreFoundInBoundedTime) {
  std::string schema = R"({"type": "string"})";
  for (int i = 0; i < 12; ++i) schema = R"({"anyOf": [)" + schema + "," + schema + "]}";
  EXPECT_EQ(types(schema), "s");
}

TEST(Values, AreReadAsTheirTypesSay) {
  const ParameterTypes any = ParameterTypes::any();
  EXPECT_EQ(value_as_json("5", {.string = true}), "\"5\"");
  EXPECT_EQ(value_as_json("5", {.integer = true}), "5");
  EXPECT_EQ(value_as_json(" 5\n", {.number = true}), "5");
  EXPECT_EQ(value_as_json("5.5", {.integer = true}), "\"5.5\"");
  EXPECT_EQ(value_as_json("1e400", {.number = true}), "\"1e400\"");
  EXPECT_EQ(value_as_json("123456789012345678901234567890", {.number = true}),
            "123456789012345678901234567890");
  EXPECT_EQ(value_as_json("False", {.boolean = true}), "false");
  EXPECT_EQ(value_as_json("false", {.string = true, .boolean = true}), "false");
  EXPECT_EQ(value_as_json("maybe", {.boolean = true}), "\"maybe\"");
  EXPECT_EQ(value_as_json("null", {.string = true}), "\"null\"");
  EXPECT_EQ(value_as_json("None", {.string = true, .null = true}), "null");
  EXPECT_EQ(value_as_json("{\"a\": [1, 2]}", {.object = true}), "{\"a\": [1, 2]}");
  EXPECT_EQ(value_as_json("{\"a\": [1, 2]}", {.array = true}), "\"{\\\"a\\\": [1, 2]}\"");
  EXPECT_EQ(value_as_json("{'a': (1, True)}", {.object = true}), "{\"a\": [1, true]}");
  EXPECT_EQ(value_as_json("\"quoted\"", any), "\"\\\"quoted\\\"\"");
  EXPECT_EQ(value_as_json("a \x01 \"b\" 도", any), "\"a \\u0001 \\\"b\\\" 도\"");
  EXPECT_EQ(value_as_json("", any), "\"\"");
  EXPECT_EQ(value_as_json(std::string(1000, '['), any), '"' + std::string(1000, '[') + '"');
}

TEST(PythonLiterals, BecomeJson) {
  const auto json = [](std::string_view text) {
    return python_literal_as_json(text).value_or("none");
  };
  EXPECT_EQ(json("'a\"b'"), "\"a\\\"b\"");
  EXPECT_EQ(json(R"("\x41\u00e9\U0001F600\ud83d\ude00\ud83d\n\q")"),
            "\"Aé😀😀\xEF\xBF\xBD\\n\\\\q\"");
  EXPECT_EQ(json("+1."), "1.0");
  EXPECT_EQ(json("-2.50e+3"), "-2.50e+3");
  EXPECT_EQ(json("[1, (2,), {'k': None, \"l\": [],}, ]"), "[1, [2], {\"k\": null, \"l\": []}]");
  for (const char* text :
       {"", "x", "1 2", "[1", "{1: 2}", "'a", "f()", "True1", "-", "1e", "'\\x4'"}) {
    EXPECT_EQ(json(text), "none") << text;
  }
  EXPECT_EQ(json(std::string(100, '[') + std::string(100, ']')), "none");
}

}  // namespace
}  // namespace dialogue
}  // namespace dure
