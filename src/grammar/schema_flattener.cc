// See schema_flattener.h.
#include "grammar/schema_flattener.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "grammar/schema_keywords.h"

namespace dure::grammar {
namespace {

constexpr size_t most_entries = 200'000;  // of all flat schemas made, which bounds time and memory
constexpr size_t most_alternatives = 1000;

}  // namespace

std::vector<FlatSchema> SchemaFlattener::flatten(const Conjunction& schemas) {
  Alternatives out(1);
  for (const Json* schema : schemas) out = apply(*schema, std::move(out));
  return out;
}

void SchemaFlattener::check_size(const Json& schema, const Alternatives& made) const {
  if (made.size() > most_alternatives || size_ > most_entries) {
    document_.refuse(schema, "",
                     fmt::format("combines to more than {} alternatives or {} entries",
                                 most_alternatives, most_entries),
                     "write the alternatives out, or put them under a property of their own");
  }
}

const Json& SchemaFlattener::branches_of(const Json& schema, const char* keyword) const {
  const Json& branches = schema[keyword];
  if (!branches.is_array() || branches.empty()) {
    document_.refuse(schema, keyword, fmt::format("{} must be a list of schemas", keyword));
  }
  for (const Json& branch : branches) {
    if (!branch.is_object() && !branch.is_boolean()) {
      document_.refuse(schema, keyword, "a schema must be an object, true or false");
    }
  }
  return branches;
}

SchemaFlattener::Alternatives SchemaFlattener::apply_own(const Json& schema, Alternatives before) {
  const FlatSchema own = read_keywords(document_, schema);
  Alternatives out;
  for (FlatSchema& one : before) {
    if (auto both = merge(document_, schema, std::move(one), own)) out.push_back(std::move(*both));
  }
  for (const FlatSchema& one : out) size_ += one.size();
  check_size(schema, out);
  return out;
}

SchemaFlattener::Alternatives SchemaFlattener::apply_any_of(const Json& schema,
                                                            const Json& branches,
                                                            const Alternatives& before) {
  Alternatives out;
  for (const Json& branch : branches) {
    for (FlatSchema& one : apply(branch, before)) out.push_back(std::move(one));
    check_size(schema, out);
  }
  return out;
}

SchemaFlattener::Alternatives SchemaFlattener::apply_one_of(const Json& schema,
                                                            const Json& branches,
                                                            const Alternatives& before) {
  Alternatives out;
  for (const Json& branch : branches) {
    const size_t earlier = out.size();
    for (FlatSchema& one : apply(branch, before)) {
      for (size_t i = 0; i < earlier; ++i) {
        if (plainly_disjoint(out[i], one)) continue;
        document_.refuse(schema, "oneOf",
                         "a value could satisfy two of oneOf's schemas, which cannot be ruled out",
                         "use anyOf, or give each a required property with its own const");
      }
      out.push_back(std::move(one));
    }
    check_size(schema, out);
  }
  return out;
}

SchemaFlattener::Alternatives SchemaFlattener::apply(const Json& schema, Alternatives before) {
  if (schema.is_boolean()) return schema.get<bool>() ? std::move(before) : Alternatives{};
  if (!schema.is_object())
    document_.refuse(schema, "", "a schema must be an object, true or false");
  if (std::ranges::find(path_, &schema) != path_.end()) {
    document_.refuse(schema, "", "the schema refers to itself before it says anything",
                     "put the reference under a property or items");
  }
  if (path_.size() > 128) document_.refuse(schema, "", "references and combinations 128 deep");
  path_.push_back(&schema);
  const bool nullable = schema.contains("nullable") && schema["nullable"] == true &&
                        !schema.contains("enum") && !schema.contains("const");
  Alternatives nulls;
  if (nullable) {
    for (const FlatSchema& one : before) {
      FlatSchema null;
      null.types = types::null;
      null.typed = true;
      if (auto both = merge(document_, schema, one, null)) nulls.push_back(std::move(*both));
    }
  }
  Alternatives out = apply_own(schema, std::move(before));
  if (schema.contains("$ref")) out = apply(*document_.target(schema), std::move(out));
  if (schema.contains("allOf")) {
    for (const Json& branch : branches_of(schema, "allOf")) out = apply(branch, std::move(out));
  }
  if (schema.contains("anyOf")) out = apply_any_of(schema, branches_of(schema, "anyOf"), out);
  if (schema.contains("oneOf")) out = apply_one_of(schema, branches_of(schema, "oneOf"), out);
  for (FlatSchema& null : nulls) out.push_back(std::move(null));
  path_.pop_back();
  return out;
}

}  // namespace dure::grammar
