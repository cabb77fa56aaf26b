// Arrays and objects of a schema; see json_schema.h.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "grammar/emit.h"
#include "grammar/json_schema.h"
#include "grammar/regex_parser.h"

namespace dure::grammar {
namespace {

constexpr size_t most_properties =
    1000;  // all optional ones may come next, each a parse of its own

bool is_false(const Conjunction& schema) {
  return std::ranges::any_of(
      schema, [](const Json* part) { return part->is_boolean() && !part->get<bool>(); });
}

std::string quoted(const std::string& name) {
  return Json(name).dump();
}

}  // namespace

RuleId SchemaCompiler::separated(RuleId part) {
  const RuleId out = builder_.add_rule("a further part");
  const StateId next = builder_.add_state();
  json_.add_separator(builder_.start(out), ',', next);
  builder_.add_call(next, part, 1, 1, builder_.end(out));
  return out;
}

void SchemaCompiler::add_array(const Json& where, const FlatSchema& flat, StateId from,
                               StateId to) {
  const std::vector<Conjunction> none_first;
  const std::vector<Conjunction>& prefix = flat.prefix ? *flat.prefix : none_first;
  const uint32_t low = flat.item_count.low;
  uint32_t high = flat.item_count.high;
  const auto first = static_cast<uint32_t>(prefix.size());
  const bool shut = flat.items ? is_false(*flat.items) : first > 0 && low <= first;
  if (shut) high = std::min(high, first);
  if (low > high) {
    document_.refuse(where, "minItems",
                     fmt::format("at least {} and at most {} items are possible", low, high));
  }
  StateId at = builder_.add_state();
  json_.add_open(from, '[', at);
  for (uint32_t i = 0; i < std::min(first, high); ++i) {
    if (i >= low) json_.add_close(at, ']', to);
    StateId before = at;
    if (i > 0) {
      before = builder_.add_state();
      json_.add_separator(at, ',', before);
    }
    at = builder_.add_state();
    builder_.add_call(before, rule_for(prefix[i]), 1, 1, at);
  }
  if (high <= first) {
    json_.add_close(at, ']', to);
    return;
  }
  const RuleId item = rule_for(flat.items ? *flat.items : Conjunction{});
  uint32_t taken = first;
  if (first == 0) {
    if (low == 0) json_.add_close(at, ']', to);
    const StateId after = builder_.add_state();
    builder_.add_call(at, item, 1, 1, after);
    at = after;
    taken = 1;
  }
  const StateId last = builder_.add_state();
  builder_.add_call(at, separated(item), low > taken ? low - taken : 0,
                    high == unbounded ? unbounded : high - taken, last);
  json_.add_close(last, ']', to);
}

// Completes `pair`: name, ':' and a value.
RuleId SchemaCompiler::pair_rule(StateId name_from, StateId name_to, RuleId pair,
                                 const Conjunction& value) {
  builder_.add_epsilon(builder_.start(pair), name_from);
  const StateId before = builder_.add_state();
  json_.add_separator(name_to, ':', before);
  builder_.add_call(before, rule_for(value), 1, 1, builder_.end(pair));
  return pair;
}

RuleId SchemaCompiler::property_rule(const Property& property) {
  const RuleId pair = builder_.add_rule("property " + property.name);
  const StateId from = builder_.add_state(), to = builder_.add_state();
  builder_.add_text(from, quoted(property.name), to);
  return pair_rule(from, to, pair, property.schema);
}

RuleId SchemaCompiler::other_pair_rule(const std::vector<Property>& named,
                                       const Conjunction& value) {
  const RuleId pair = builder_.add_rule("another property");
  const StateId from = builder_.add_state(), to = builder_.add_state();
  std::vector<std::string> names;
  names.reserve(named.size());
  for (const Property& property : named) names.push_back(property.name);
  add_other_name(std::move(names), from, to);
  return pair_rule(from, to, pair, value);
}

// A string that is none of `names`: along the tree of the names, every other character leads out of
// it into any string, and the quote may come where no name ends. Characters of the tree are never
// escaped where they need not be, since an escape could spell a name in another way.
void SchemaCompiler::add_other_name(std::vector<std::string> names, StateId from, StateId to) {
  if (names.empty()) {
    builder_.add_call(from, json_.string(), 1, 1, to);
    return;
  }
  struct Node {
    std::map<uint32_t, size_t> next;
    bool ends = false;
    StateId state = 0;
  };
  std::vector<Node> tree(1);
  for (const std::string& name : names) {
    size_t at = 0;
    std::string_view rest = name;
    for (uint32_t character = 0; utf8::take(rest, character);) {
      const auto found = tree[at].next.find(character);
      if (found != tree[at].next.end()) {
        at = found->second;
        continue;
      }
      tree.push_back({});
      tree[at].next.emplace(character, tree.size() - 1);
      at = tree.size() - 1;
    }
    tree[at].ends = true;
  }
  for (Node& node : tree) node.state = builder_.add_state();
  builder_.add_bytes(from, '"', '"', tree[0].state);
  const StateId outside = builder_.add_state();
  builder_.add_call(outside, json_.string_tail(), 1, 1, to);
  Emitter emitter(builder_, Encoding::json_string);
  const RuleId escape = builder_.add_rule("an escape");
  emitter.emit_characters(escaped_in_json(), builder_.start(escape), builder_.end(escape));
  for (const Node& node : tree) {
    CodePoints inside;
    for (const auto& [character, child] : node.next) {
      inside.add(character, character);
      emitter.emit_characters(CodePoints::one(character), node.state, tree[child].state);
    }
    CodePoints others = inside.complement();
    if (others.intersection(escaped_in_json()) == escaped_in_json()) {
      builder_.add_call(node.state, escape, 1, 1, outside);
      others = others.intersection(escaped_in_json().complement());
    }
    emitter.emit_characters(others, node.state, outside);
    if (!node.ends) builder_.add_bytes(node.state, '"', '"', to);
  }
}

// An object without named properties.
void SchemaCompiler::add_map(const Json& where, const FlatSchema& flat, StateId from, StateId to) {
  const Counts& counts = flat.property_count;
  if (counts.low > counts.high) {
    document_.refuse(where, "minProperties", "more than maxProperties");
  }
  const bool shut = flat.additional && is_false(*flat.additional) && !flat.pattern_property;
  const StateId open = builder_.add_state();
  json_.add_open(from, '{', open);
  if (counts.low == 0) json_.add_close(open, '}', to);
  if (shut || counts.high == 0) return;
  RuleId pair = 0;
  if (flat.pattern_property) {
    if (!flat.names.empty()) {
      document_.refuse(where, "propertyNames", "propertyNames beside patternProperties");
    }
    pair = builder_.add_rule("a property by pattern");
    const StateId name = builder_.add_state(), inside = builder_.add_state();
    const StateId quote = builder_.add_state(), after = builder_.add_state();
    builder_.add_bytes(name, '"', '"', inside);
    Emitter(builder_, Encoding::json_string)
        .emit(parse_regex_search(flat.pattern_property->pattern, "json_schema: patternProperties"),
              inside, quote);
    builder_.add_bytes(quote, '"', '"', after);
    pair_rule(name, after, pair, {flat.pattern_property->schema});
  } else if (!flat.names.empty()) {
    static const Json is_string = {{"type", "string"}};
    Conjunction names = flat.names;
    conjoin(names, &is_string);
    pair = builder_.add_rule("a property");
    const StateId name = builder_.add_state(), after = builder_.add_state();
    builder_.add_call(name, rule_for(names), 1, 1, after);
    pair_rule(name, after, pair, flat.additional.value_or(Conjunction{}));
  } else {
    pair = other_pair_rule({}, flat.additional.value_or(Conjunction{}));
  }
  const StateId first = builder_.add_state(), last = builder_.add_state();
  builder_.add_call(open, pair, 1, 1, first);
  builder_.add_call(first, separated(pair), counts.low > 1 ? counts.low - 1 : 0,
                    counts.high == unbounded ? unbounded : counts.high - 1, last);
  json_.add_close(last, '}', to);
}

void SchemaCompiler::add_object(const Json& where, const FlatSchema& flat, StateId from,
                                StateId to) {
  std::vector<Property> named = flat.properties;
  for (const std::string& name : flat.required) {
    if (flat.property(name) == nullptr && !flat.pattern_property) {
      named.push_back({name, flat.additional.value_or(Conjunction{})});
    }
  }
  if (named.empty()) return add_map(where, flat, from, to);
  if (named.size() > most_properties) {
    document_.refuse(where, "properties", fmt::format("more than {} properties", most_properties));
  }
  const bool more = flat.additional && !is_false(*flat.additional);
  if (flat.pattern_property) {
    document_.refuse(where, "patternProperties", "patternProperties beside named properties");
  }
  if (!flat.names.empty()) {
    document_.refuse(where, "propertyNames", "propertyNames beside named properties");
  }
  if (flat.property_count.low > flat.required.size() ||
      (flat.property_count.high < named.size() ||
       (more && flat.property_count.high != unbounded))) {
    document_.refuse(where,
                     flat.property_count.high == unbounded ? "minProperties" : "maxProperties",
                     "the number of properties is limited only where none is named");
  }
  // alone: no property was written so far; beside: one was, so that a comma comes first.
  StateId alone = builder_.add_state(), beside = builder_.add_state();
  json_.add_open(from, '{', alone);
  for (const Property& property : named) {
    const RuleId pair = property_rule(property);
    const StateId next_alone = builder_.add_state(), next_beside = builder_.add_state();
    const StateId comma = builder_.add_state();
    builder_.add_call(alone, pair, 1, 1, next_beside);
    json_.add_separator(beside, ',', comma);
    builder_.add_call(comma, pair, 1, 1, next_beside);
    if (!flat.requires_property(property.name)) {
      builder_.add_epsilon(alone, next_alone);
      builder_.add_epsilon(beside, next_beside);
    }
    alone = next_alone;
    beside = next_beside;
  }
  const StateId last = builder_.add_state();
  if (more) {
    const RuleId pair = other_pair_rule(named, *flat.additional);
    const StateId first = builder_.add_state();
    builder_.add_call(alone, pair, 1, 1, first);
    builder_.add_epsilon(beside, first);
    builder_.add_call(first, separated(pair), 0, unbounded, last);
  } else {
    builder_.add_epsilon(beside, last);
  }
  json_.add_close(alone, '}', to);
  json_.add_close(last, '}', to);
}

}  // namespace dure::grammar
