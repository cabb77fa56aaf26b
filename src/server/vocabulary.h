// What each token of the served vocabulary is as text, for log-probabilities and grammars. Built
// when it is first asked for, which may take some 100 ms: not by the engine's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/token_trie.h"
#include "text/tokenizer.h"

namespace dure {

// The bytes of all tokens; immutable.
class TokenTexts {
 public:
  TokenTexts(const Tokenizer& tokenizer, int32_t vocab);

  // What the token adds to a text, which may end inside a character; special tokens as they are
  // written, nothing for unknown ids.
  std::string_view bytes(int32_t token) const;
  // The same as text: bytes that are no character are U+FFFD.
  std::string shown(int32_t token) const;

 private:
  std::vector<std::string> bytes_;  // [vocab]
};

class Vocabulary {
 public:
  // `vocab`: ids that the ranks know, which may be more than the tokenizer has.
  Vocabulary(std::shared_ptr<const Tokenizer> tokenizer, int32_t vocab);

  std::shared_ptr<const TokenTexts> texts();
  // Of what tokens add to a text: special ones nothing.
  std::shared_ptr<const grammar::TokenTrie> trie();

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  int32_t vocab_;
  std::once_flag texts_made_;
  std::shared_ptr<const TokenTexts> texts_;
  std::once_flag trie_made_;
  std::shared_ptr<const grammar::TokenTrie> trie_;
};

}  // namespace dure
