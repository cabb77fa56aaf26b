// What an answer may look like, compiled: from a regular expression, a choice of texts, JSON, a
// JSON schema, or a grammar in EBNF. Compiling takes well under a second and 64 MB whatever the
// input (limits.h); all of these throw bad_input naming what is not understood or too large.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dure::grammar {

class Automaton;

// Immutable and safe from several threads.
class Grammar {
 public:
  explicit Grammar(Automaton automaton);
  ~Grammar();
  Grammar(const Grammar&) = delete;
  Grammar& operator=(const Grammar&) = delete;

  const Automaton& automaton() const { return *automaton_; }

 private:
  std::unique_ptr<const Automaton> automaton_;
};

// The whole answer matches; see regex_parser.h for what is understood.
std::shared_ptr<const Grammar> compile_regex(std::string_view pattern);

// The answer is one of the texts. At least one, none empty, valid UTF-8.
std::shared_ptr<const Grammar> compile_choice(const std::vector<std::string>& texts);

// The answer is any JSON object of RFC 8259, compact or indented; see json_rules.h.
std::shared_ptr<const Grammar> compile_json_object();

// The answer is JSON of the schema (draft 2020-12 and the older drafts' spellings); see
// json_schema.h for what is understood. Error.field() is the path of the keyword at fault.
std::shared_ptr<const Grammar> compile_json_schema(std::string_view schema);

// A literal text around JSON of a schema.
struct FramedSchema {
  std::string prefix;
  std::string schema;
  std::string suffix;
};

// The answer is one of the alternatives, at least one.
std::shared_ptr<const Grammar> compile_framed_schemas(
    const std::vector<FramedSchema>& alternatives);

// The answer is a sentence of the grammar, from its rule `root` or `start`; see ebnf_parser.h.
std::shared_ptr<const Grammar> compile_ebnf(std::string_view grammar);

}  // namespace dure::grammar
