// JSON schemas as rules of an automaton.
//
// Understood: type (also a list), enum, const, properties, required, additionalProperties,
// propertyNames, min/maxProperties (of objects without named properties), one patternProperties,
// items, prefixItems, min/maxItems, minLength, maxLength, pattern (as ECMA 262 searches), format
// (date, time, date-time, duration, uuid, hostname, email, ipv4, ipv6, uri), minimum, maximum and
// their exclusive kinds, anyOf, oneOf where its schemas are plainly disjoint, allOf where it can be
// merged, $ref into the document (recursion too), nullable, true and false. Titles and the like are
// ignored. Every other keyword is refused by its path.
//
// Produced is what the schema describes and nothing beside it: properties in the schema's order,
// none that it does not name unless additionalProperties says so (a value of type object without
// properties is any object), no more items than prefixItems unless items says so, values of the
// type that the keywords are about where none is given. White space: one space may follow a ',' or
// ':'. Numbers with bounds are written without exponent. A lone surrogate is never produced;
// characters of an enum, const, pattern or property name are raw wherever JSON allows it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/automaton_builder.h"
#include "grammar/flat_schema.h"
#include "grammar/json_rules.h"
#include "grammar/schema_document.h"
#include "grammar/schema_flattener.h"

namespace dure::grammar {

class SchemaCompiler {
 public:
  SchemaCompiler(AutomatonBuilder& builder, const SchemaDocument& document);

  // The rule of the whole document.
  RuleId run();

 private:
  struct Task {
    Conjunction schemas;
    RuleId rule;
  };

  RuleId rule_for(const Conjunction& schemas);  // made now or earlier, filled in later
  void fill(const Task& task);
  void add_flat(const Json& where, const FlatSchema& flat, StateId from, StateId to);

  // schema_values.cc
  void add_values(const Json& where, const FlatSchema& flat, StateId from, StateId to);
  void add_value(const Json& value, StateId from, StateId to);
  void add_number(const Json& where, const FlatSchema& flat, StateId from, StateId to);
  void add_string(const Json& where, const FlatSchema& flat, StateId from, StateId to);
  void add_pattern_string(const Json& where, const FlatSchema& flat, StateId from, StateId to);

  // schema_containers.cc
  void add_array(const Json& where, const FlatSchema& flat, StateId from, StateId to);
  void add_object(const Json& where, const FlatSchema& flat, StateId from, StateId to);
  void add_map(const Json& where, const FlatSchema& flat, StateId from, StateId to);
  RuleId pair_rule(StateId name_from, StateId name_to, RuleId pair, const Conjunction& value);
  RuleId property_rule(const Property& property);
  RuleId other_pair_rule(const std::vector<Property>& named, const Conjunction& value);
  void add_other_name(std::vector<std::string> names, StateId from, StateId to);
  RuleId separated(RuleId part);

  AutomatonBuilder& builder_;
  const SchemaDocument& document_;
  SchemaFlattener flattener_;
  JsonRules json_;
  std::map<Conjunction, RuleId> rules_;
  std::vector<Task> tasks_;
};

}  // namespace dure::grammar
