// See json_schema.h: which rules there are, and what each of a value's types looks like.
#include "grammar/json_schema.h"

#include <nlohmann/json.hpp>

namespace dure::grammar {

SchemaCompiler::SchemaCompiler(AutomatonBuilder& builder, const SchemaDocument& document)
    : builder_(builder),
      document_(document),
      flattener_(document),
      json_(builder, Spacing::compact) {}

RuleId SchemaCompiler::run() {
  const RuleId root = rule_for({document_.resolved(&document_.root())});
  while (!tasks_.empty()) {
    const Task task = std::move(tasks_.back());
    tasks_.pop_back();
    fill(task);
  }
  return root;
}

RuleId SchemaCompiler::rule_for(const Conjunction& schemas) {
  if (schemas.empty()) return json_.value();
  const auto [at, fresh] = rules_.try_emplace(schemas, 0);
  if (fresh) {
    at->second = builder_.add_rule("a schema");
    tasks_.push_back({schemas, at->second});
  }
  return at->second;
}

void SchemaCompiler::fill(const Task& task) {
  const StateId from = builder_.start(task.rule), to = builder_.end(task.rule);
  for (const FlatSchema& flat : flattener_.flatten(task.schemas)) {
    add_flat(*task.schemas.front(), flat, from, to);
  }
}

void SchemaCompiler::add_flat(const Json& where, const FlatSchema& flat, StateId from, StateId to) {
  if (flat.values) return add_values(where, flat, from, to);
  const unsigned meant = flat.meant();
  if (meant == types::all && flat.touched == 0) {
    builder_.add_call(from, json_.value(), 1, 1, to);
    return;
  }
  if (meant & types::object) add_object(where, flat, from, to);
  if (meant & types::array) add_array(where, flat, from, to);
  if (meant & types::string) add_string(where, flat, from, to);
  if (meant & types::number) add_number(where, flat, from, to);
  if (meant & types::boolean) builder_.add_call(from, json_.boolean(), 1, 1, to);
  if (meant & types::null) builder_.add_call(from, json_.null(), 1, 1, to);
}

}  // namespace dure::grammar
