// See vocabulary.h.
#include "server/vocabulary.h"

#include "base/utf8.h"
#include "text/token_bytes.h"

namespace dure {

TokenTexts::TokenTexts(const Tokenizer& tokenizer, int32_t vocab) : bytes_(token_bytes(tokenizer)) {
  bytes_.resize(static_cast<size_t>(vocab));
  for (int32_t id = 0; id < vocab; ++id) {
    std::string& bytes = bytes_[static_cast<size_t>(id)];
    if (bytes.empty() && id < tokenizer.vocabulary_size()) bytes = tokenizer.token_of(id);
  }
}

std::string_view TokenTexts::bytes(int32_t token) const {
  const auto at = static_cast<size_t>(token);
  return token >= 0 && at < bytes_.size() ? std::string_view(bytes_[at]) : std::string_view();
}

std::string TokenTexts::shown(int32_t token) const {
  return utf8::repaired(bytes(token));
}

Vocabulary::Vocabulary(std::shared_ptr<const Tokenizer> tokenizer, int32_t vocab)
    : tokenizer_(std::move(tokenizer)), vocab_(vocab) {}

std::shared_ptr<const TokenTexts> Vocabulary::texts() {
  std::call_once(texts_made_,
                 [this] { texts_ = std::make_shared<const TokenTexts>(*tokenizer_, vocab_); });
  return texts_;
}

std::shared_ptr<const grammar::TokenTrie> Vocabulary::trie() {
  std::call_once(trie_made_, [this] {
    std::vector<std::string> bytes = token_bytes(*tokenizer_);
    bytes.resize(static_cast<size_t>(vocab_));
    trie_ = std::make_shared<const grammar::TokenTrie>(bytes);
  });
  return trie_;
}

}  // namespace dure
