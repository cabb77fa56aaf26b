// See token_trie.h.
#include "grammar/token_trie.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace dure::grammar {

TokenTrie::TokenTrie(const std::vector<std::string>& bytes_of_token) {
  constexpr size_t longest_allowed = UINT16_MAX;
  offsets_.reserve(bytes_of_token.size() + 1);
  offsets_.push_back(0);
  for (size_t id = 0; id < bytes_of_token.size(); ++id) {
    const std::string& bytes = bytes_of_token[id];
    if (bytes.size() > longest_allowed || text_.size() + bytes.size() > UINT32_MAX) {
      throw_bad_input(fmt::format("vocabulary: token {} has {} bytes, the limit is {}", id,
                                  bytes.size(), longest_allowed));
    }
    text_ += bytes;
    offsets_.push_back(static_cast<uint32_t>(text_.size()));
    longest_ = std::max(longest_, bytes.size());
    if (!bytes.empty()) tokens_.push_back(static_cast<uint32_t>(id));
  }
  std::ranges::sort(tokens_, [&](uint32_t a, uint32_t b) {
    const int order = bytes(a).compare(bytes(b));
    return order != 0 ? order < 0 : a < b;
  });

  // In the order of their bytes, each token adds the nodes behind what it shares with the one
  // before.
  nodes_.push_back({.end = 0, .first_token = 0, .depth = 0, .deepest = 0, .byte = 0});
  std::vector<uint32_t> path{0};  // nodes of the token before
  std::string_view before;
  const auto close = [&](size_t depth) {
    for (; path.size() > depth + 1; path.pop_back()) {
      Node& node = nodes_[path.back()];
      node.end = static_cast<uint32_t>(nodes_.size());
      Node& parent = nodes_[path[path.size() - 2]];
      parent.deepest = std::max(parent.deepest, node.deepest);
    }
  };
  for (uint32_t i = 0; i < tokens_.size(); ++i) {
    const std::string_view token = bytes(tokens_[i]);
    const auto common = static_cast<size_t>(
        std::mismatch(before.begin(), before.end(), token.begin(), token.end()).first -
        before.begin());
    close(common);
    for (size_t depth = common; depth < token.size(); ++depth) {
      path.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back({.end = 0,
                        .first_token = i,
                        .depth = static_cast<uint16_t>(depth + 1),
                        .deepest = static_cast<uint16_t>(depth + 1),
                        .byte = static_cast<uint8_t>(token[depth])});
    }
    before = token;
  }
  close(0);
  nodes_[0].end = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back({.end = nodes_[0].end,
                    .first_token = static_cast<uint32_t>(tokens_.size()),
                    .depth = 0,
                    .deepest = 0,
                    .byte = 0});
}

}  // namespace dure::grammar
