// See schema_keywords.h.
#include "grammar/schema_keywords.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace dure::grammar {
namespace {

class KeywordReader {
 public:
  KeywordReader(const SchemaDocument& document, const Json& schema)
      : document_(document), schema_(schema) {}

  FlatSchema read() {
    for (const auto& [key, value] : schema_.items()) {
      if (is_annotation(key)) continue;
      if (!read_general(key, value) && !read_number(key, value) && !read_string(key, value) &&
          !read_object(key, value) && !read_array(key, value)) {
        refuse(key, fmt::format("the keyword \"{:.60}\" is not supported", key),
               "leave it out, or say the same with keywords that are");
      }
    }
    read_old_bounds();
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(std::string_view key, std::string_view problem,
                           std::string_view hint = "") const {
    document_.refuse(schema_, key, problem, hint);
  }

  uint32_t count(const std::string& key, const Json& value) const {
    const bool whole = value.is_number_float() && type_of(value) == types::integer;
    if ((!value.is_number_integer() && !whole) || value.get<double>() < 0) {
      refuse(key, fmt::format("{} must be a whole number from 0", key));
    }
    if (value.get<double>() > max_count) {
      refuse(key, fmt::format("{} {:.30} is above the limit {}", key, value.dump(), max_count));
    }
    return static_cast<uint32_t>(value.get<double>());
  }

  bool read_counts(const std::string& key, const Json& value, std::string_view low,
                   std::string_view high, Counts& counts, unsigned type) {
    if (key != low && key != high) return false;
    (key == low ? counts.low : counts.high) = count(key, value);
    out_.touched |= type;
    return true;
  }

  // A schema in a keyword.
  const Json* part(std::string_view key, const Json& value) const {
    if (!value.is_object() && !value.is_boolean()) {
      refuse(key, "a schema must be an object, true or false");
    }
    return document_.resolved(&value);
  }

  unsigned type_named(const Json& name) const {
    constexpr std::array<std::pair<const char*, unsigned>, 7> names{{{"null", types::null},
                                                                     {"boolean", types::boolean},
                                                                     {"integer", types::integer},
                                                                     {"number", types::number},
                                                                     {"string", types::string},
                                                                     {"array", types::array},
                                                                     {"object", types::object}}};
    for (const auto& [text, bit] : names) {
      if (name == text) return bit;
    }
    refuse("type", fmt::format("{:.60} is not a type", name.dump()),
           "types: null, boolean, integer, number, string, array, object");
  }

  bool read_general(const std::string& key, const Json& value) {
    if (key == "$ref" || key == "allOf" || key == "anyOf" || key == "oneOf" || key == "nullable") {
      return true;  // the flattener's
    }
    if (key == "type") {
      out_.typed = true;
      out_.types = 0;
      if (value.is_array()) {
        for (const Json& name : value) out_.types |= type_named(name);
      } else {
        out_.types = type_named(value);
      }
      return true;
    }
    if (key == "const") {
      keep_values({&value});
      return true;
    }
    if (key == "enum") {
      if (!value.is_array() || value.empty()) refuse(key, "enum must be a list of values");
      std::vector<const Json*> values;
      for (const Json& one : value) values.push_back(&one);
      keep_values(std::move(values));
      return true;
    }
    return false;
  }

  void keep_values(std::vector<const Json*> values) {
    if (out_.values) {
      std::erase_if(values, [&](const Json* value) {
        return std::ranges::none_of(*out_.values,
                                    [&](const Json* other) { return *other == *value; });
      });
    }
    out_.values = std::move(values);
  }

  bool read_number(const std::string& key, const Json& value) {
    const bool low = key == "minimum" || key == "exclusiveMinimum";
    if (!low && key != "maximum" && key != "exclusiveMaximum") {
      if (key != "multipleOf") return false;
      if (value.is_number() && value.get<double>() == 1) {
        one_step_ = true;
        return true;
      }
      refuse(key, "multipleOf is supported with 1 only");
    }
    out_.touched |= types::number;
    const bool strict = key.starts_with("exclusive");
    if (strict && value.is_boolean()) return true;  // draft 4: read_old_bounds
    if (!value.is_number()) refuse(key, fmt::format("{} must be a number", key));
    NumberBound& bound = low ? out_.low : out_.high;
    // With both kinds, the narrower one holds.
    if (bound.value != nullptr) {
      const double had = bound.value->get<double>(), has = value.get<double>();
      const bool narrower = low ? has > had : has < had;
      if (!narrower && !(has == had && strict)) return true;
    }
    bound = {&value, strict};
    return true;
  }

  void read_old_bounds() {
    const auto is_true = [&](const char* key) {
      const auto found = schema_.find(key);
      return found != schema_.end() && found->is_boolean() && found->get<bool>();
    };
    if (is_true("exclusiveMinimum")) out_.low.strict = true;
    if (is_true("exclusiveMaximum")) out_.high.strict = true;
    if (one_step_) out_.types &= ~types::fraction;
  }

  bool read_string(const std::string& key, const Json& value) {
    if (read_counts(key, value, "minLength", "maxLength", out_.length, types::string)) return true;
    if (key != "pattern" && key != "format") return false;
    if (!value.is_string()) refuse(key, fmt::format("{} must be a string", key));
    if (key == "pattern") {
      out_.patterns.push_back(&value);
      out_.touched |= types::string;
    } else {
      out_.format = &value;
    }
    return true;
  }

  bool read_object(const std::string& key, const Json& value) {
    if (read_counts(key, value, "minProperties", "maxProperties", out_.property_count,
                    types::object)) {
      return true;
    }
    if (key == "properties") {
      if (!value.is_object()) refuse(key, "properties must be an object");
      for (const auto& [name, schema] : value.items()) {
        out_.properties.push_back({name, {part(key, schema)}});
      }
    } else if (key == "required") {
      if (!value.is_array()) {
        if (value.is_boolean()) return true;  // draft 3 wrote it into the property
        refuse(key, "required must be a list of names");
      }
      for (const Json& name : value) {
        if (!name.is_string()) refuse(key, "required must be a list of names");
        if (!out_.requires_property(name.get_ref<const std::string&>())) {
          out_.required.push_back(name.get<std::string>());
        }
      }
    } else if (key == "additionalProperties" || key == "unevaluatedProperties") {
      if (key == "unevaluatedProperties") {
        if (!value.is_boolean()) refuse(key, "unevaluatedProperties must be true or false");
        return true;  // properties that nothing names are not produced
      }
      out_.additional = Conjunction{part(key, value)};
    } else if (key == "propertyNames") {
      out_.names = {part(key, value)};
    } else if (key == "patternProperties") {
      if (!value.is_object()) refuse(key, "patternProperties must be an object");
      if (value.empty()) return true;
      if (value.size() > 1) refuse(key, "patternProperties with more than one pattern");
      out_.pattern_property = {value.begin().key(), part(key, value.begin().value())};
    } else {
      return false;
    }
    out_.touched |= types::object;
    return true;
  }

  bool read_array(const std::string& key, const Json& value) {
    if (read_counts(key, value, "minItems", "maxItems", out_.item_count, types::array)) return true;
    if (key == "prefixItems" || (key == "items" && value.is_array())) {
      if (!value.is_array()) refuse(key, "prefixItems must be a list of schemas");
      out_.prefix.emplace();
      for (const Json& schema : value) out_.prefix->push_back({part(key, schema)});
    } else if (key == "items" || (key == "additionalItems" && schema_.contains("items") &&
                                  schema_["items"].is_array())) {
      out_.items = Conjunction{part(key, value)};
    } else if (key == "uniqueItems") {
      if (value != false) {
        refuse(key, "uniqueItems is not supported", "an automaton cannot remember all items");
      }
    } else if (key != "additionalItems") {
      return false;
    }
    out_.touched |= types::array;
    return true;
  }

  const SchemaDocument& document_;
  const Json& schema_;
  FlatSchema out_;
  bool one_step_ = false;
};

void narrow(Counts& into, const Counts& other) {
  into.low = std::max(into.low, other.low);
  into.high = std::min(into.high, other.high);
}

void narrow(NumberBound& into, const NumberBound& other, bool low) {
  if (other.value == nullptr) return;
  if (into.value == nullptr) {
    into = other;
    return;
  }
  const double had = into.value->get<double>(), has = other.value->get<double>();
  if ((low ? has > had : has < had) || (has == had && other.strict)) into = other;
}

// What one side does not name must satisfy that side's additionalProperties.
void merge_properties(FlatSchema& a, const FlatSchema& b) {
  if (b.additional) {
    for (Property& mine : a.properties) {
      if (b.property(mine.name) == nullptr) conjoin(mine.schema, *b.additional);
    }
  }
  for (const Property& other : b.properties) {
    const auto mine = std::ranges::find(a.properties, other.name, &Property::name);
    if (mine != a.properties.end()) {
      conjoin(mine->schema, other.schema);
    } else {
      a.properties.push_back(other);
      if (a.additional) conjoin(a.properties.back().schema, *a.additional);
    }
  }
  if (b.additional) {
    if (!a.additional) a.additional.emplace();
    conjoin(*a.additional, *b.additional);
  }
  for (const std::string& name : b.required) {
    if (!a.requires_property(name)) a.required.push_back(name);
  }
  conjoin(a.names, b.names);
}

}  // namespace

FlatSchema read_keywords(const SchemaDocument& document, const Json& schema) {
  return KeywordReader(document, schema).read();
}

std::optional<FlatSchema> merge(const SchemaDocument& document, const Json& where, FlatSchema a,
                                const FlatSchema& b) {
  a.types &= b.types;
  a.typed |= b.typed;
  a.touched |= b.touched;
  if (a.types == 0) return std::nullopt;
  if (!a.values) {
    a.values = b.values;
  } else if (b.values) {
    std::erase_if(*a.values, [&](const Json* value) {
      return std::ranges::none_of(*b.values, [&](const Json* other) { return *other == *value; });
    });
    if (a.values->empty()) return std::nullopt;
  }
  narrow(a.low, b.low, true);
  narrow(a.high, b.high, false);
  narrow(a.length, b.length);
  narrow(a.item_count, b.item_count);
  narrow(a.property_count, b.property_count);
  for (const Json* pattern : b.patterns) {
    const auto same = [&](const Json* other) { return *other == *pattern; };
    if (std::ranges::none_of(a.patterns, same)) a.patterns.push_back(pattern);
  }
  if (a.format == nullptr) {
    a.format = b.format;
  } else if (b.format != nullptr && *a.format != *b.format) {
    document.refuse(where, "format", "two formats for one string cannot be combined");
  }
  const auto about_names = [](const FlatSchema& schema) {
    return !schema.properties.empty() || schema.additional || schema.pattern_property;
  };
  if ((a.pattern_property && about_names(b)) || (b.pattern_property && about_names(a))) {
    document.refuse(where, "patternProperties",
                    "patternProperties cannot be combined with another schema's properties");
  }
  if (b.pattern_property) a.pattern_property = b.pattern_property;
  merge_properties(a, b);
  if ((a.prefix && (b.prefix || b.items)) || (b.prefix && a.items)) {
    document.refuse(where, "prefixItems", "prefixItems cannot be combined with other items");
  }
  if (b.prefix) a.prefix = b.prefix;
  if (b.items) {
    if (!a.items) a.items.emplace();
    conjoin(*a.items, *b.items);
  }
  return a;
}

}  // namespace dure::grammar
