// See grammars.h.
#include "server/grammars.h"

#include <fmt/format.h>

#include "base/error.h"

namespace dure {
namespace {

// Parts with their lengths, so that different sources never look alike.
std::string key_of(const GrammarSource& source) {
  std::string key = fmt::format("{}:", static_cast<int>(source.kind));
  const auto add = [&](const std::string& part) {
    key += fmt::format("{}:", part.size());
    key += part;
  };
  add(source.text);
  for (const std::string& text : source.choice) add(text);
  for (const grammar::FramedSchema& frame : source.frames) {
    add(frame.prefix);
    add(frame.schema);
    add(frame.suffix);
  }
  return key;
}

std::shared_ptr<const grammar::Grammar> compile(const GrammarSource& source) {
  switch (source.kind) {
    case GrammarSource::Kind::json_object:
      return grammar::compile_json_object();
    case GrammarSource::Kind::json_schema:
      return grammar::compile_json_schema(source.text);
    case GrammarSource::Kind::regex:
      return grammar::compile_regex(source.text);
    case GrammarSource::Kind::choice:
      return grammar::compile_choice(source.choice);
    case GrammarSource::Kind::ebnf:
      return grammar::compile_ebnf(source.text);
    case GrammarSource::Kind::framed:
      return grammar::compile_framed_schemas(source.frames);
  }
  check_failed("every kind of grammar is compiled", __FILE__, __LINE__);
}

}  // namespace

Grammars::Grammars(Vocabulary& vocabulary, size_t most) : vocabulary_(vocabulary), most_(most) {}

std::shared_ptr<const grammar::Constraint> Grammars::constraint(const GrammarSource& source) {
  const std::string key = key_of(source);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      kept_.splice(kept_.begin(), kept_, found->second);
      return kept_.front().constraint;
    }
  }
  std::shared_ptr<const grammar::Constraint> made;
  try {
    made = std::make_shared<const grammar::Constraint>(compile(source), vocabulary_.trie());
  } catch (const Error& error) {
    throw Error(error.code(), error.message(), error.hint(), source.field);
  }
  const std::lock_guard lock(mutex_);
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    return found->second->constraint;  // another request was faster
  }
  kept_.push_front({key, made});
  by_key_.emplace(key, kept_.begin());
  if (kept_.size() > most_) {
    by_key_.erase(kept_.back().key);
    kept_.pop_back();
  }
  return made;
}

}  // namespace dure
