// The bytes of every token of a vocabulary as one tree, built once per tokenizer and shared.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dure::grammar {

// Immutable and safe from several threads.
class TokenTrie {
 public:
  struct Node {
    uint32_t end;  // one behind the last node of its subtree; nodes are in depth-first order
    uint32_t first_token;  // into tokens(); those of this node end where the next node's begin
    uint16_t depth;        // bytes from the root
    uint16_t deepest;      // the depth of the longest token in its subtree
    uint8_t byte;
  };

  // bytes_of_token[id]: what the token adds to the text. Empty: never allowed (special tokens,
  // holes in the vocabulary). Throws bad_input for tokens above 65,535 bytes.
  explicit TokenTrie(const std::vector<std::string>& bytes_of_token);

  size_t vocabulary_size() const { return offsets_.size() - 1; }
  size_t mask_words() const { return (vocabulary_size() + 63) / 64; }
  std::string_view bytes(uint32_t token) const {  // token < vocabulary_size()
    return std::string_view(text_).substr(offsets_[token], offsets_[token + 1] - offsets_[token]);
  }
  size_t longest_token() const { return longest_; }  // bytes

  // [nodes + 1]: node 0 is the root (the empty text), the last one only ends the others.
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<uint32_t>& tokens() const { return tokens_; }

 private:
  std::string text_;               // all tokens' bytes, by id
  std::vector<uint32_t> offsets_;  // [vocabulary + 1]
  std::vector<Node> nodes_;
  std::vector<uint32_t> tokens_;  // ids, by the order of their bytes
  size_t longest_ = 0;
};

}  // namespace dure::grammar
