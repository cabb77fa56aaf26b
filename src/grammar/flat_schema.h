// A JSON schema without combinators: what one kind of allowed values looks like. References, allOf,
// anyOf and oneOf have been resolved into a list of these, of which one has to hold.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "grammar/limits.h"

namespace dure::grammar {

// Schemas that must all hold; sorted, each once. Empty: anything.
using Conjunction = std::vector<const Json*>;

// Sets of types, as bits.
namespace types {
constexpr unsigned null = 1, boolean = 2, integer = 4, fraction = 8, string = 16, array = 32,
                   object = 64, all = 127, number = integer | fraction;
}

struct NumberBound {
  const Json* value = nullptr;  // none: open
  bool strict = false;
};

struct Counts {
  uint32_t low = 0, high = UINT32_MAX;  // the high one may be open
  bool limited() const { return low != 0 || high != UINT32_MAX; }
};

struct Property {
  std::string name;
  Conjunction schema;
};

struct PatternProperty {
  std::string pattern;  // of the name
  const Json* schema;
};

struct FlatSchema {
  unsigned types = types::all;
  bool typed = false;    // a "type" is given
  unsigned touched = 0;  // types that keywords were written for: meant, where no type is given

  // Values to choose from, where there is an enum or const.
  std::optional<std::vector<const Json*>> values;

  NumberBound low, high;
  Counts length;  // of a string, in characters
  std::vector<const Json*> patterns;
  const Json* format = nullptr;

  std::vector<Property> properties;  // in the order they were named
  std::vector<std::string> required;
  std::optional<Conjunction> additional;  // of properties that are not named
  Conjunction names;                      // propertyNames
  Counts property_count;
  std::optional<PatternProperty> pattern_property;

  std::optional<std::vector<Conjunction>> prefix;
  std::optional<Conjunction> items;  // behind the prefix
  Counts item_count;

  unsigned meant() const;  // types
  bool requires_property(std::string_view name) const;
  const Property* property(std::string_view name) const;
  size_t size() const;  // about how many entries it holds
};

// Whether no value can satisfy both, by what is plain to see: their types, their values, or a
// required property that tells them apart.
bool plainly_disjoint(const FlatSchema& a, const FlatSchema& b);

unsigned type_of(const Json& value);

// Adds to a conjunction, which stays sorted.
void conjoin(Conjunction& conjunction, const Json* schema);
void conjoin(Conjunction& conjunction, const Conjunction& other);

}  // namespace dure::grammar
