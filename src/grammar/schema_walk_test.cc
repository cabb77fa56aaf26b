// Random schemas, random walks through their masks, and a judge that knows the specification but
// nothing of the compiler: whatever is produced satisfies its schema.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/json.h"
#include "grammar/testing.h"

namespace dure::grammar {
namespace {

size_t characters_of(const std::string& text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

bool has_type(const Json& value, const std::string& type) {
  if (type == "integer")
    return value.is_number() && std::floor(value.get<double>()) == value.get<double>();
  return (type == "null" && value.is_null()) || (type == "boolean" && value.is_boolean()) ||
         (type == "number" && value.is_number()) || (type == "string" && value.is_string()) ||
         (type == "array" && value.is_array()) || (type == "object" && value.is_object());
}

// Whether the value satisfies the schema. Knows the keywords that random_schema uses.
class Judge {
 public:
  explicit Judge(const Json& root) : root_(root) {}

  bool satisfies(const Json& schema, const Json& value) const {
    if (schema.is_boolean()) return schema.get<bool>();
    for (const auto& [key, argument] : schema.items()) {
      if (!keyword(schema, key, argument, value)) return false;
    }
    return true;
  }

 private:
  bool keyword(const Json& schema, const std::string& key, const Json& a, const Json& v) const {
    const auto each = [&](const Json& branch) { return satisfies(branch, v); };
    if (key == "$ref") return satisfies(root_["$defs"][a.get<std::string>().substr(8)], v);
    if (key == "type") return has_type(v, a.get<std::string>());
    if (key == "enum") return std::ranges::find(a, v) != a.end();
    if (key == "const") return v == a;
    if (key == "anyOf") return std::ranges::any_of(a, each);
    if (key == "oneOf") return std::ranges::count_if(a, each) == 1;
    if (key == "allOf") return std::ranges::all_of(a, each);
    if (v.is_number()) return number(key, a, v.get<double>());
    if (v.is_string()) return string(key, a, v.get<std::string>());
    if (v.is_array()) return array(key, a, v);
    if (v.is_object()) return object(schema, key, a, v);
    return true;
  }

  static bool number(const std::string& key, const Json& a, double v) {
    if (key == "minimum") return v >= a.get<double>();
    if (key == "maximum") return v <= a.get<double>();
    if (key == "exclusiveMinimum") return v > a.get<double>();
    return true;
  }

  static bool string(const std::string& key, const Json& a, const std::string& v) {
    if (key == "minLength") return characters_of(v) >= a.get<size_t>();
    if (key == "maxLength") return characters_of(v) <= a.get<size_t>();
    if (key == "pattern") return std::regex_search(v, std::regex(a.get<std::string>()));
    return true;
  }

  bool array(const std::string& key, const Json& a, const Json& v) const {
    if (key == "minItems") return v.size() >= a.get<size_t>();
    if (key == "maxItems") return v.size() <= a.get<size_t>();
    if (key == "items")
      return std::ranges::all_of(v, [&](const Json& item) { return satisfies(a, item); });
    return true;
  }

  bool object(const Json& schema, const std::string& key, const Json& a, const Json& v) const {
    if (key == "required") {
      return std::ranges::all_of(
          a, [&](const Json& name) { return v.contains(name.get<std::string>()); });
    }
    for (const auto& [name, part] : v.items()) {
      const bool named = schema.contains("properties") && schema["properties"].contains(name);
      if (key == "properties" && named && !satisfies(a[name], part)) return false;
      if (key == "additionalProperties" && !named && !satisfies(a, part)) return false;
    }
    return true;
  }

  const Json& root_;
};

class SchemaMaker {
 public:
  explicit SchemaMaker(unsigned seed) : random_(seed) {}

  Json root() {
    Json out = schema(3);
    out["$defs"] = {{"a", schema(2)}, {"b", schema(1)}};
    return out;
  }

 private:
  size_t below(size_t limit) { return random_() % limit; }

  Json schema(int depth) {
    switch (below(depth > 0 ? 10 : 5)) {
      case 0:
        return {{"type", "integer"},
                {"minimum", static_cast<int>(below(40)) - 20},
                {"maximum", 20 + static_cast<int>(below(300))}};
      case 1:
        return {{"type", "number"},
                {"exclusiveMinimum", static_cast<double>(below(100)) / 8 - 5},
                {"maximum", 8.25}};
      case 2:
        return string();
      case 3:
        return {{"enum", {"a", 1, nullptr, true, "서울", {{"k", {1, "x"}}}}}};
      case 4:
        return {{"type", below(2) == 0 ? "null" : "boolean"}};
      case 5:
        return {{"type", "array"},
                {"items", schema(depth - 1)},
                {"minItems", below(2)},
                {"maxItems", 2 + below(3)}};
      case 6:
        return {{"anyOf", {schema(depth - 1), schema(depth - 1)}}};
      case 7:
        // References stand where an array may end them.
        return {{"type", "array"},
                {"items", {{"$ref", below(2) == 0 ? "#/$defs/a" : "#/$defs/b"}}},
                {"maxItems", 2}};
      case 8:
        return {{"allOf", {object(depth), object(depth)}}};
      default:
        return object(depth);
    }
  }

  Json string() {
    Json out{{"type", "string"}};
    if (below(2) == 0) out["maxLength"] = 1 + below(5);
    if (below(3) == 0) out["pattern"] = below(2) == 0 ? "^[a-c]*$" : "b|^a";
    if (below(3) == 0) out["minLength"] = 1;
    return out;
  }

  Json object(int depth) {
    Json out{{"type", "object"}, {"properties", Json::object()}, {"required", Json::array()}};
    for (const char* name : {"n", "name", "서\n\"", "q"}) {
      if (below(2) == 0) continue;
      out["properties"][name] = schema(depth - 1);
      if (below(3) == 0) out["required"].push_back(name);
    }
    if (below(3) == 0) out["additionalProperties"] = below(2) == 0 ? Json(false) : string();
    return out;
  }

  std::mt19937 random_;
};

TEST(JsonSchemaWalks, ProduceWhatSatisfiesTheSchema) {
  const auto tokens = testing::mixed_tokens();
  int made = 0, refused = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    const Json schema = SchemaMaker(seed).root();
    SCOPED_TRACE(schema.dump());
    std::shared_ptr<const Grammar> grammar;
    try {
      grammar = compile_json_schema(schema.dump());
    } catch (const Error& error) {
      ++refused;  // allOf of what no value satisfies, or two patterns for one string
      continue;
    }
    const Matcher matcher = testing::matcher_of(grammar, tokens);
    std::mt19937 random(seed);
    for (int walk = 0; walk < 6; ++walk) {
      const std::string text = testing::random_walk(matcher, *tokens, random, 25);
      Json value;
      try {
        value = parse_json(text, "the walk", {.allow_duplicate_keys = true});
      } catch (const Error& error) {  // JSON whose numbers no double can hold
        ASSERT_THAT(error.message(), ::testing::HasSubstr("too large for a double")) << text;
        continue;
      }
      ASSERT_TRUE(Judge(schema).satisfies(schema, value)) << text;
      ++made;
    }
  }
  std::printf("%d documents, %d schemas refused\n", made, refused);
  EXPECT_GT(made, 1500);
}

}  // namespace
}  // namespace dure::grammar
