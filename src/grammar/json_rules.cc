// See json_rules.h.
#include "grammar/json_rules.h"

#include "grammar/emit.h"
#include "grammar/regex_parser.h"

namespace dure::grammar {
namespace {

constexpr uint32_t most_blanks = 64;

RuleId add_pattern(AutomatonBuilder& builder, std::string name, std::string_view pattern) {
  const RuleId rule = builder.add_rule(std::move(name));
  Emitter(builder, Encoding::utf8)
      .emit(parse_regex(pattern, builder.what()), builder.start(rule), builder.end(rule));
  return rule;
}

}  // namespace

RuleId JsonRules::blanks() {
  if (blanks_) return *blanks_;
  blanks_ = builder_.add_rule("white space");
  StateId at = builder_.start(*blanks_);
  for (uint32_t i = 0; i < most_blanks; ++i) {
    builder_.add_epsilon(at, builder_.end(*blanks_));
    const StateId next = i + 1 == most_blanks ? builder_.end(*blanks_) : builder_.add_state();
    for (const char blank : {' ', '\t', '\n', '\r'}) {
      builder_.add_bytes(at, static_cast<uint8_t>(blank), static_cast<uint8_t>(blank), next);
    }
    at = next;
  }
  return *blanks_;
}

void JsonRules::add_open(StateId from, char bracket, StateId to) {
  const auto byte = static_cast<uint8_t>(bracket);
  if (spacing_ == Spacing::compact) return builder_.add_bytes(from, byte, byte, to);
  const StateId after = builder_.add_state();
  builder_.add_bytes(from, byte, byte, after);
  builder_.add_call(after, blanks(), 1, 1, to);
}

void JsonRules::add_close(StateId from, char bracket, StateId to) {
  const auto byte = static_cast<uint8_t>(bracket);
  if (spacing_ == Spacing::compact) return builder_.add_bytes(from, byte, byte, to);
  const StateId before = builder_.add_state();
  builder_.add_call(from, blanks(), 1, 1, before);
  builder_.add_bytes(before, byte, byte, to);
}

void JsonRules::add_separator(StateId from, char mark, StateId to) {
  const auto byte = static_cast<uint8_t>(mark);
  const StateId after = builder_.add_state();
  if (spacing_ == Spacing::compact) {
    builder_.add_bytes(from, byte, byte, after);
    builder_.add_epsilon(after, to);
    builder_.add_bytes(after, ' ', ' ', to);
    return;
  }
  const StateId before = builder_.add_state();
  builder_.add_call(from, blanks(), 1, 1, before);
  builder_.add_bytes(before, byte, byte, after);
  builder_.add_call(after, blanks(), 1, 1, to);
}

RuleId JsonRules::value() {
  if (value_) return *value_;
  value_ = builder_.add_rule("value");
  for (const RuleId kind : {object(), array(), string(), number(), boolean(), null()}) {
    builder_.add_call(builder_.start(*value_), kind, 1, 1, builder_.end(*value_));
  }
  return *value_;
}

void JsonRules::add_pair(StateId from, StateId to) {
  const StateId after_name = builder_.add_state(), before_value = builder_.add_state();
  builder_.add_call(from, string(), 1, 1, after_name);
  add_separator(after_name, ':', before_value);
  builder_.add_call(before_value, value(), 1, 1, to);
}

RuleId JsonRules::object() {
  if (object_) return *object_;
  object_ = builder_.add_rule("object");
  const StateId open = builder_.add_state(), next = builder_.add_state();
  const StateId after = builder_.add_state();
  add_open(builder_.start(*object_), '{', open);
  builder_.add_bytes(open, '}', '}', builder_.end(*object_));  // its blanks were read
  add_pair(open, after);
  add_separator(after, ',', next);
  add_pair(next, after);
  add_close(after, '}', builder_.end(*object_));
  return *object_;
}

RuleId JsonRules::array() {
  if (array_) return *array_;
  array_ = builder_.add_rule("array");
  const StateId open = builder_.add_state(), next = builder_.add_state();
  const StateId after = builder_.add_state();
  add_open(builder_.start(*array_), '[', open);
  builder_.add_bytes(open, ']', ']', builder_.end(*array_));
  builder_.add_call(open, value(), 1, 1, after);
  add_separator(after, ',', next);
  builder_.add_call(next, value(), 1, 1, after);
  add_close(after, ']', builder_.end(*array_));
  return *array_;
}

RuleId JsonRules::character() {
  if (character_) return *character_;
  character_ = builder_.add_rule("character");
  const StateId from = builder_.start(*character_), to = builder_.end(*character_);
  Emitter(builder_, Encoding::utf8).emit_characters(escaped_in_json().complement(), from, to);
  Emitter(builder_, Encoding::utf8)
      .emit(parse_regex(
                R"(\\(?:["\\/bfnrt]|u(?:[0-9A-Ca-cE-Fe-f][0-9A-Fa-f]{3}|[Dd](?:[0-7][0-9A-Fa-f]{2})"
                R"(|[89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2}))))",
                builder_.what()),
            from, to);
  return *character_;
}

RuleId JsonRules::string_tail() {
  if (tail_) return *tail_;
  tail_ = builder_.add_rule("string");
  const StateId quote = builder_.add_state();
  builder_.add_call(builder_.start(*tail_), character(), 0, unbounded, quote);
  builder_.add_bytes(quote, '"', '"', builder_.end(*tail_));
  return *tail_;
}

RuleId JsonRules::string() {
  if (string_) return *string_;
  string_ = builder_.add_rule("string");
  const StateId inside = builder_.add_state();
  builder_.add_bytes(builder_.start(*string_), '"', '"', inside);
  builder_.add_call(inside, string_tail(), 1, 1, builder_.end(*string_));
  return *string_;
}

RuleId JsonRules::number() {
  if (!number_) {
    number_ =
        add_pattern(builder_, "number", R"(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)");
  }
  return *number_;
}

RuleId JsonRules::integer() {
  if (!integer_) integer_ = add_pattern(builder_, "integer", "-?(?:0|[1-9][0-9]*)");
  return *integer_;
}

RuleId JsonRules::boolean() {
  if (!boolean_) boolean_ = add_pattern(builder_, "boolean", "true|false");
  return *boolean_;
}

RuleId JsonRules::null() {
  if (!null_) null_ = add_pattern(builder_, "null", "null");
  return *null_;
}

}  // namespace dure::grammar
