// See flat_schema.h.
#include "grammar/flat_schema.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace dure::grammar {
namespace {

bool share_value(const std::vector<const Json*>& a, const std::vector<const Json*>& b) {
  return std::ranges::any_of(a, [&](const Json* x) {
    return std::ranges::any_of(b, [&](const Json* y) { return *x == *y; });
  });
}

// The values that a property's schema names itself, without looking through references.
std::optional<std::vector<const Json*>> plain_values(const Conjunction& schema) {
  for (const Json* part : schema) {
    if (!part->is_object()) continue;
    if (part->contains("const")) return std::vector<const Json*>{&(*part)["const"]};
    if (part->contains("enum") && (*part)["enum"].is_array()) {
      std::vector<const Json*> values;
      for (const Json& value : (*part)["enum"]) values.push_back(&value);
      return values;
    }
  }
  return std::nullopt;
}

// A property that both require, with other values in each.
bool told_apart_by_value(const FlatSchema& a, const FlatSchema& b) {
  return std::ranges::any_of(a.properties, [&](const Property& mine) {
    if (!a.requires_property(mine.name) || !b.requires_property(mine.name)) return false;
    const Property* other = b.property(mine.name);
    if (other == nullptr) return false;
    const auto x = plain_values(mine.schema), y = plain_values(other->schema);
    return x && y && !share_value(*x, *y);
  });
}

// A property that `b` requires and that `a` does not name: since unnamed properties are not
// produced unless additionalProperties asks for them, nothing made for `a` is right for `b`.
bool lacks_one(const FlatSchema& a, const FlatSchema& b) {
  const bool closed = !a.additional && !a.pattern_property && !a.properties.empty();
  const bool shut = a.additional && a.additional->size() == 1 && (*a.additional)[0]->is_boolean() &&
                    !(*a.additional)[0]->get<bool>();
  if (!closed && !shut) return false;
  return std::ranges::any_of(b.required, [&](const std::string& name) {
    return a.property(name) == nullptr && !a.requires_property(name);
  });
}

}  // namespace

unsigned FlatSchema::meant() const {
  return typed || touched == 0 ? types : types & touched;
}

bool FlatSchema::requires_property(std::string_view name) const {
  return std::ranges::find(required, name) != required.end();
}

const Property* FlatSchema::property(std::string_view name) const {
  const auto at = std::ranges::find(properties, name, &Property::name);
  return at == properties.end() ? nullptr : &*at;
}

size_t FlatSchema::size() const {
  return 1 + properties.size() + required.size() + (values ? values->size() : 0) +
         (prefix ? prefix->size() : 0);
}

unsigned type_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return types::null;
    case Json::value_t::boolean:
      return types::boolean;
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return types::integer;
    case Json::value_t::number_float: {
      const auto number = value.get<double>();
      return number == static_cast<double>(static_cast<int64_t>(std::clamp(number, -9e18, 9e18)))
                 ? types::integer
                 : types::fraction;
    }
    case Json::value_t::string:
      return types::string;
    case Json::value_t::array:
      return types::array;
    default:
      return types::object;
  }
}

bool plainly_disjoint(const FlatSchema& a, const FlatSchema& b) {
  const auto types_of = [](const FlatSchema& schema) {
    if (!schema.values) return schema.meant();
    unsigned all = 0;
    for (const Json* value : *schema.values) all |= type_of(*value);
    return all & schema.types;
  };
  const unsigned common = types_of(a) & types_of(b);
  if (common == 0) return true;
  if (a.values && b.values) return !share_value(*a.values, *b.values);
  if (common != types::object) return false;
  return told_apart_by_value(a, b) || (lacks_one(a, b) && lacks_one(b, a));
}

void conjoin(Conjunction& conjunction, const Json* schema) {
  const auto at = std::ranges::lower_bound(conjunction, schema, std::less<const Json*>());
  if (at == conjunction.end() || *at != schema) conjunction.insert(at, schema);
}

void conjoin(Conjunction& conjunction, const Conjunction& other) {
  for (const Json* schema : other) conjoin(conjunction, schema);
}

}  // namespace dure::grammar
