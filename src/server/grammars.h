// Compiled grammars by their source: requests of one application bring the same one again and
// again, and share what its masks have learnt about the vocabulary.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "grammar/grammar.h"
#include "grammar/matcher.h"
#include "server/vocabulary.h"

namespace dure {

// What the answer has to look like, as a request says it.
struct GrammarSource {
  enum class Kind { json_object, json_schema, regex, choice, ebnf, framed };
  Kind kind = Kind::json_object;
  std::string text;  // of json_schema, regex, ebnf
  std::vector<std::string> choice;
  std::vector<grammar::FramedSchema> frames;
  std::string field;  // where it came from, for errors
};

// Safe from several threads.
class Grammars {
 public:
  // Keeps the `most` grammars that were used last; each may hold some 25 MB (grammar/limits.h).
  explicit Grammars(Vocabulary& vocabulary, size_t most = 16);

  // Compiles, which takes up to a second: not for the engine's thread. Throws bad_input naming the
  // source's field.
  std::shared_ptr<const grammar::Constraint> constraint(const GrammarSource& source);

 private:
  struct Kept {
    std::string key;
    std::shared_ptr<const grammar::Constraint> constraint;
  };

  Vocabulary& vocabulary_;
  const size_t most_;
  std::mutex mutex_;
  std::list<Kept> kept_;  // the last used first
  std::unordered_map<std::string, std::list<Kept>::iterator> by_key_;
};

}  // namespace dure
