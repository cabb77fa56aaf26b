// See grammar.h.
#include "grammar/grammar.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "grammar/automaton.h"
#include "grammar/automaton_builder.h"
#include "grammar/ebnf_parser.h"
#include "grammar/emit.h"
#include "grammar/json_rules.h"
#include "grammar/json_schema.h"
#include "grammar/limits.h"
#include "grammar/regex_parser.h"
#include "grammar/stepper.h"

namespace dure::grammar {
namespace {

std::shared_ptr<const Grammar> built(AutomatonBuilder& builder, RuleId root) {
  auto grammar = std::make_shared<Grammar>(builder.build(root));
  // Some of it would never be produced.
  Frames frames;
  Configs configs;
  Stepper(grammar->automaton()).start(frames, grammar->automaton().max_depth(), configs);
  if (configs.items.size() >= max_configs) {
    throw_bad_input(
        fmt::format("{}: begins with more than {} parses at once", builder.what(), max_configs),
        "write long lists of texts as texts, not as rules");
  }
  return grammar;
}

}  // namespace

Grammar::Grammar(Automaton automaton)
    : automaton_(std::make_unique<Automaton>(std::move(automaton))) {}

Grammar::~Grammar() = default;

std::shared_ptr<const Grammar> compile_regex(std::string_view pattern) {
  AutomatonBuilder builder("guided_regex");
  const RuleId root = builder.add_rule("the pattern");
  Emitter(builder, Encoding::utf8)
      .emit(parse_regex(pattern, builder.what()), builder.start(root), builder.end(root));
  return built(builder, root);
}

std::shared_ptr<const Grammar> compile_choice(const std::vector<std::string>& texts) {
  AutomatonBuilder builder("guided_choice");
  if (texts.empty()) throw_bad_input("guided_choice: no texts to choose from");
  size_t bytes = 0;
  for (const std::string& text : texts) {
    bytes += text.size();
    if (text.empty()) throw_bad_input("guided_choice: an empty text");
    if (utf8::first_invalid(text) != text.size()) {
      throw_bad_input("guided_choice: a text that is not UTF-8");
    }
  }
  if (bytes > max_choice_bytes) {
    throw_bad_input(fmt::format("guided_choice: texts of {} bytes in all, the limit is {}", bytes,
                                max_choice_bytes));
  }
  const RuleId root = builder.add_rule("the choice");
  builder.add_choice(builder.start(root), texts, builder.end(root));
  return built(builder, root);
}

std::shared_ptr<const Grammar> compile_json_object() {
  AutomatonBuilder builder("json_object");
  return built(builder, JsonRules(builder, Spacing::free).object());
}

std::shared_ptr<const Grammar> compile_json_schema(std::string_view schema) {
  AutomatonBuilder builder("json_schema");
  if (schema.size() > max_schema_bytes) {
    throw_bad_input(fmt::format("json_schema: a schema of {} bytes, the limit is {}", schema.size(),
                                max_schema_bytes));
  }
  const Json json = parse_json(schema, "json_schema");
  const SchemaDocument document(json);
  return built(builder, SchemaCompiler(builder, document).run());
}

std::shared_ptr<const Grammar> compile_framed_schemas(
    const std::vector<FramedSchema>& alternatives) {
  AutomatonBuilder builder("json_schema");
  if (alternatives.empty()) throw_bad_input("json_schema: no alternatives");
  const RuleId root = builder.add_rule("the alternatives");
  size_t bytes = 0;
  for (const FramedSchema& frame : alternatives) {
    bytes += frame.prefix.size() + frame.schema.size() + frame.suffix.size();
    if (bytes > max_schema_bytes) {
      throw_bad_input(fmt::format("json_schema: schemas of {} bytes and more, the limit is {}",
                                  bytes, max_schema_bytes));
    }
    const Json json = parse_json(frame.schema, "json_schema");
    const SchemaDocument document(json);
    const RuleId arguments = SchemaCompiler(builder, document).run();
    const StateId before = builder.add_state();
    const StateId behind = builder.add_state();
    builder.add_text(builder.start(root), frame.prefix, before);
    builder.add_call(before, arguments, 1, 1, behind);
    builder.add_text(behind, frame.suffix, builder.end(root));
  }
  return built(builder, root);
}

std::shared_ptr<const Grammar> compile_ebnf(std::string_view grammar) {
  AutomatonBuilder builder("guided_grammar");
  return built(builder, add_ebnf(builder, grammar));
}

}  // namespace dure::grammar
