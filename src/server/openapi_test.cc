// The served document against the parsers: they must say the same of every field and value.
#include "server/openapi.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

#include "server/api_routes.h"
#include "server/requests.h"
#include "server/test_model.h"

namespace dure {
namespace {

bool has_type(const Json& value, const std::string& type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_boolean();
  if (type == "string") return value.is_string();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  if (type == "number") return value.is_number();
  EXPECT_EQ(type, "integer");
  return value.is_number() && std::trunc(value.get<double>()) == value.get<double>();
}

std::vector<std::string> names_of(const Json& value) {
  std::vector<std::string> names;
  if (!value.is_object()) return names;
  for (const auto& [name, unused] : value.items()) names.push_back(name);
  return names;
}

// The part of JSON Schema that descriptions use; another keyword fails the test.
bool fits(const Json& value, const Json& schema) {
  for (const auto& [keyword, said] : schema.items()) {
    bool fine = true;
    if (keyword == "type") {
      fine = has_type(value, said.get<std::string>());
    } else if (keyword == "enum") {
      fine = std::find(said.begin(), said.end(), value) != said.end();
    } else if (keyword == "const") {
      fine = value == said;
    } else if (keyword == "anyOf") {
      fine =
          std::any_of(said.begin(), said.end(), [&](const Json& one) { return fits(value, one); });
    } else if (keyword == "not") {
      fine = !fits(value, said);
    } else if (keyword == "minimum") {
      fine = !value.is_number() || value.get<double>() >= said.get<double>();
    } else if (keyword == "maximum") {
      fine = !value.is_number() || value.get<double>() <= said.get<double>();
    } else if (keyword == "exclusiveMinimum") {
      fine = !value.is_number() || value.get<double>() > said.get<double>();
    } else if (keyword == "minLength") {
      fine = !value.is_string() || value.get<std::string>().size() >= said.get<size_t>();
    } else if (keyword == "maxLength") {
      fine = !value.is_string() || value.get<std::string>().size() <= said.get<size_t>();
    } else if (keyword == "minItems") {
      fine = !value.is_array() || value.size() >= said.get<size_t>();
    } else if (keyword == "maxItems") {
      fine = !value.is_array() || value.size() <= said.get<size_t>();
    } else if (keyword == "items") {
      fine = !value.is_array() ||
             std::all_of(value.begin(), value.end(),
                         [&, said = said](const Json& entry) { return fits(entry, said); });
    } else if (keyword == "propertyNames") {
      for (const std::string& name : names_of(value)) {
        fine = fine && fits(Json(name), said);
      }
    } else if (keyword == "properties") {
      for (const auto& [name, inner] : said.items()) {
        if (value.is_object() && value.contains(name)) fine = fine && fits(value[name], inner);
      }
    } else if (keyword == "required") {
      for (const Json& name : said) {
        fine = fine && (!value.is_object() || value.contains(name.get<std::string>()));
      }
    } else if (keyword == "pattern") {
      fine = !value.is_string() ||
             std::regex_search(value.get<std::string>(), std::regex(said.get<std::string>()));
    } else if (keyword == "additionalProperties") {
      for (const std::string& name : names_of(value)) {
        if (schema.contains("properties") && schema["properties"].contains(name)) continue;
        fine = fine && (said.is_object() ? fits(value[name], said) : said.get<bool>());
      }
    } else {
      EXPECT_EQ(keyword, "description");
    }
    if (!fine) return false;
  }
  return true;
}

// Values that lie about the borders that the schema names, and of every other kind.
void collect_values(const Json& schema, std::vector<Json>& values) {
  for (const char* border : {"minimum", "maximum", "exclusiveMinimum"}) {
    if (!schema.contains(border)) continue;
    values.push_back(schema[border]);
    const double number = schema[border].get<double>();
    if (std::fabs(number) > 1e15) continue;  // where doubles are no longer exact
    for (const double near : {number - 1, number - 0.5, number, number + 0.5, number + 1}) {
      values.emplace_back(near);
    }
  }
  if (schema.contains("maxLength")) {
    values.emplace_back(std::string(schema["maxLength"].get<size_t>(), 'x'));
    values.emplace_back(std::string(schema["maxLength"].get<size_t>() + 1, 'x'));
  }
  if (schema.contains("maxItems")) {
    for (const size_t more : {0, 1}) {
      values.push_back(
          Json(std::vector<std::string>(schema["maxItems"].get<size_t>() + more, "x")));
    }
  }
  for (const char* list : {"enum", "anyOf"}) {
    if (!schema.contains(list)) continue;
    for (const Json& entry : schema[list]) {
      if (entry.is_object()) collect_values(entry, values);
      if (std::string(list) == "enum") values.push_back(entry);
    }
  }
  if (schema.contains("items")) {
    std::vector<Json> inner;
    collect_values(schema["items"], inner);
    for (const Json& one : inner) values.push_back(Json::array({one}));
  }
  if (schema.contains("properties")) {
    for (const auto& [name, inner_schema] : schema["properties"].items()) {
      std::vector<Json> inner;
      collect_values(inner_schema, inner);
      for (const Json& one : inner) values.push_back(Json{{name, one}});
    }
  }
}

std::vector<Json> values_for(const Json& schema) {
  std::vector<Json> values;
  for (const char* text : {"null",
                           "true",
                           "false",
                           "0",
                           "1",
                           "-1",
                           "2",
                           "0.5",
                           "1e9",
                           "1e300",
                           R"("")",
                           R"("a")",
                           R"("text")",
                           "[]",
                           "[0]",
                           "[1,2]",
                           R"(["a"])",
                           R"([""])",
                           R"([1,"a"])",
                           R"([["a"]])",
                           "[[1],[2]]",
                           "[[]]",
                           "[null]",
                           "{}",
                           R"({"a":1})",
                           R"({"5":1,"6":-100})",
                           R"({"5":101})",
                           R"({"type":"text"})",
                           R"([{"type":"text","text":"a"}])",
                           R"([{"type":"text"}])",
                           R"([{"role":"user"}])",
                           R"([{"role":"user","content":"a"}])",
                           R"([{"role":"user","content":["a"]}])",
                           R"([{"role":"assistant","tool_calls":[]}])",
                           R"({"messages":1})",
                           R"({"include_usage":true})"}) {
    values.push_back(Json::parse(text));
  }
  collect_values(schema, values);
  return values;
}

// Whether the parser takes it; a model of another name is well formed.
template <class Parse>
bool takes(const Parse& parse, const Json& body) {
  try {
    parse(body.dump(), model_of_sizes());
    return true;
  } catch (const RequestError& error) {
    return error.status() == 404;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    return false;
  }
}

template <class Parse>
void expect_same(const Parse& parse, const Json& schema, const Json& base) {
  ASSERT_TRUE(fits(base, schema)) << base;
  ASSERT_TRUE(takes(parse, base)) << base;
  ASSERT_EQ(schema["additionalProperties"], false);
  int compared = 0;
  for (const auto& [name, described] : schema["properties"].items()) {
    for (const Json& value : values_for(described)) {
      Json body = base;
      body[name] = value;
      // What is said of single fields; two of them also depend on others.
      if (name == "best_of") body["n"] = value;
      if (name == "prompt_logprobs") body["stream"] = false;
      EXPECT_EQ(takes(parse, body), fits(body, schema)) << body.dump().substr(0, 300);
      ++compared;
    }
    Json without = base;
    without.erase(name);
    EXPECT_EQ(takes(parse, without), fits(without, schema)) << without;
  }
  Json unknown = base;
  unknown["flab"] = nullptr;
  EXPECT_FALSE(takes(parse, unknown));
  EXPECT_GT(compared, 30);
}

TEST(OpenApi, DescribesChatsAsTheParserReadsThem) {
  expect_same(
      parse_chat_call, describe_chat_call(model_of_sizes()),
      {{"messages", Json::array({Json{{"role", "user"}, {"content", "x"}}})},
       {"stream", true},
       {"logprobs", true},
       {"tools", Json::array({Json{{"type", "function"}, {"function", {{"name", "f"}}}}})}});
}

TEST(OpenApi, DescribesCompletionsAsTheParserReadsThem) {
  expect_same(parse_completion_call, describe_completion_call(model_of_sizes()),
              {{"prompt", "x"}, {"stream", true}});
}

TEST(OpenApi, DescribesDetokenizationAsTheParserReadsIt) {
  expect_same(parse_detokenize_call, describe_detokenize_call(model_of_sizes()),
              {{"tokens", Json::array({1})}, {"model", "M"}});
}

TEST(OpenApi, DescribesEveryFieldOfTokenization) {
  const Json schema = describe_tokenize_call(model_of_sizes());
  for (const char* name : {"prompt", "messages", "add_special_tokens", "chat_template_kwargs"}) {
    EXPECT_TRUE(schema["properties"].contains(name)) << name;
  }
}

void expect_references_resolve(const Json& part, const Json& document) {
  if (part.is_object() && part.contains("$ref")) {
    const auto target = part["$ref"].get<std::string>();
    EXPECT_TRUE(document.contains(Json::json_pointer(target.substr(1)))) << target;
  }
  if (!part.is_structured()) return;
  for (const Json& inner : part) expect_references_resolve(inner, document);
}

TEST(OpenApi, ListsEveryRouteAndReferencesOnlyWhatIsThere) {
  const Json document = openapi_document(model_of_sizes());
  EXPECT_EQ(document["openapi"], "3.1.0");
  EXPECT_EQ(document["paths"].size(), routes().size());
  EXPECT_TRUE(document["paths"].contains("/v1/models/{name}"));
  EXPECT_TRUE(document["paths"]["/v1/chat/completions"]["post"]["responses"].contains("429"));
  expect_references_resolve(document, document);
}

}  // namespace
}  // namespace dure
