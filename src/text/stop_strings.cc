// See stop_strings.h: a trie with fallback links, walked byte by byte.
#include "text/stop_strings.h"

#include <deque>

#include "base/error.h"

namespace dure {

StopStrings::StopStrings(const std::vector<std::string>& stops) : nodes_(1) {
  for (const std::string& stop : stops) add(stop);
  link();
}

int32_t StopStrings::child(int32_t node, unsigned char byte) const {
  const auto found = edges_.find(static_cast<uint64_t>(node) * 256 + byte);
  return found == edges_.end() ? -1 : found->second;
}

void StopStrings::add(std::string_view stop) {
  DURE_CHECK(!stop.empty());
  int32_t node = 0;
  for (const char letter : stop) {
    const auto byte = static_cast<unsigned char>(letter);
    int32_t next = child(node, byte);
    if (next < 0) {
      next = static_cast<int32_t>(nodes_.size());
      nodes_.push_back({nodes_[static_cast<size_t>(node)].depth + 1, 0, 0});
      edges_[static_cast<uint64_t>(node) * 256 + byte] = next;
    }
    node = next;
  }
  nodes_[static_cast<size_t>(node)].ends = static_cast<int32_t>(stop.size());
}

// Breadth first, so that every shorter prefix is linked before it is needed. Nodes are numbered in
// the order of insertion, which within one string is by depth but not across strings.
void StopStrings::link() {
  std::vector<std::vector<std::pair<unsigned char, int32_t>>> children(nodes_.size());
  for (const auto& [edge, to] : edges_) {
    children[edge / 256].emplace_back(static_cast<unsigned char>(edge % 256), to);
  }
  std::deque<int32_t> queue{0};
  while (!queue.empty()) {
    const int32_t node = queue.front();
    queue.pop_front();
    for (const auto& [byte, to] : children[static_cast<size_t>(node)]) {
      Node& next = nodes_[static_cast<size_t>(to)];
      if (node != 0) next.fallback = step(nodes_[static_cast<size_t>(node)].fallback, byte);
      if (next.ends == 0) next.ends = nodes_[static_cast<size_t>(next.fallback)].ends;
      queue.push_back(to);
    }
  }
}

int32_t StopStrings::step(int32_t node, unsigned char byte) const {
  for (;;) {
    const int32_t next = child(node, byte);
    if (next >= 0) return next;
    if (node == 0) return 0;
    node = nodes_[static_cast<size_t>(node)].fallback;
  }
}

std::string StopStrings::push(std::string_view piece) {
  if (stopped_) return "";
  if (edges_.empty()) return std::string(piece);
  for (const char letter : piece) {
    state_ = step(state_, static_cast<unsigned char>(letter));
    held_.push_back(letter);
    const auto ends = static_cast<size_t>(nodes_[static_cast<size_t>(state_)].ends);
    if (ends == 0) continue;
    stopped_ = true;
    found_ = held_.substr(held_.size() - ends);
    held_.resize(held_.size() - ends);
    return std::move(held_);
  }
  const size_t keep = static_cast<size_t>(nodes_[static_cast<size_t>(state_)].depth);
  std::string shown = held_.substr(0, held_.size() - keep);
  held_.erase(0, shown.size());
  return shown;
}

std::string StopStrings::finish() {
  if (stopped_) return "";
  state_ = 0;
  return std::move(held_);
}

}  // namespace dure
