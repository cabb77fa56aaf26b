// What types a JSON schema allows for a parameter (parameters.h). Hostile schemas cost no more than
// a bounded walk.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "dialogue/parameters.h"

namespace dure::dialogue {
namespace {

constexpr int deepest = 16;          // references and unions inside each other
constexpr int most_schemas = 1'000;  // looked at for one parameter

class TypeWalk {
 public:
  explicit TypeWalk(const Json& root) : root_(root) {}

  ParameterTypes types;
  bool known = false;  // something said which types there may be

  void visit(const Json& schema, int depth) {
    if (!schema.is_object() || depth > deepest || ++visited_ > most_schemas) return;
    if (const auto type = schema.find("type"); type != schema.end()) add_types(*type);
    if (const auto values = schema.find("enum"); values != schema.end() && values->is_array()) {
      for (const Json& value : *values) add_value(value);
    }
    if (const auto value = schema.find("const"); value != schema.end()) add_value(*value);
    if (schema.contains("properties")) add("object");
    if (const auto nullable = schema.find("nullable"); nullable != schema.end()) {
      if (*nullable == true) types.null = true;
    }
    for (const char* key : {"anyOf", "oneOf", "allOf"}) {
      const auto parts = schema.find(key);
      if (parts == schema.end() || !parts->is_array()) continue;
      for (const Json& part : *parts) visit(part, depth + 1);
    }
    if (const auto reference = schema.find("$ref"); reference != schema.end()) {
      follow(*reference, depth);
    }
  }

 private:
  void add(std::string_view type) {
    bool* const flag = type == "string"    ? &types.string
                       : type == "integer" ? &types.integer
                       : type == "number"  ? &types.number
                       : type == "boolean" ? &types.boolean
                       : type == "object"  ? &types.object
                       : type == "array"   ? &types.array
                       : type == "null"    ? &types.null
                                           : nullptr;
    if (flag == nullptr) return;
    *flag = true;
    known = true;
  }

  void add_types(const Json& type) {
    if (type.is_string()) add(type.get_ref<const std::string&>());
    if (!type.is_array()) return;
    for (const Json& one : type) {
      if (one.is_string()) add(one.get_ref<const std::string&>());
    }
  }

  void add_value(const Json& value) {
    add(value.is_string()           ? "string"
        : value.is_number_integer() ? "integer"
        : value.is_number()         ? "number"
        : value.is_boolean()        ? "boolean"
        : value.is_object()         ? "object"
        : value.is_array()          ? "array"
                                    : "null");
  }

  void follow(const Json& reference, int depth) {
    if (!reference.is_string()) return;
    const auto& path = reference.get_ref<const std::string&>();
    if (!path.starts_with('#')) return;
    try {
      const Json::json_pointer pointer(path.substr(1));
      if (root_.contains(pointer)) visit(root_.at(pointer), depth + 1);
    } catch (const Json::exception&) {
      // A reference that is no pointer says nothing about types.
    }
  }

  const Json& root_;
  int visited_ = 0;
};

}  // namespace

ParameterTypes types_of(const std::vector<Tool>& tools, std::string_view tool,
                        std::string_view parameter) {
  const auto named = [&](const Tool& other) { return other.name == tool; };
  const auto found = std::find_if(tools.begin(), tools.end(), named);
  if (found == tools.end() || !found->parameters) return ParameterTypes::any();
  const Json& root = *found->parameters;
  const auto properties = root.find("properties");
  if (properties == root.end() || !properties->is_object()) return ParameterTypes::any();
  const auto schema = properties->find(std::string(parameter));
  if (schema == properties->end()) return ParameterTypes::any();
  TypeWalk walk(root);
  walk.visit(*schema, 0);
  return walk.known ? walk.types : ParameterTypes::any();
}

}  // namespace dure::dialogue
