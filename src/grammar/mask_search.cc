// See mask_search.h.
#include "grammar/mask_search.h"

#include <algorithm>
#include <map>
#include <utility>

#include "grammar/limits.h"

namespace dure::grammar {

MaskSearch::MaskSearch(const Automaton& automaton, const TokenTrie& trie, MaskCache& cache,
                       LazyDfa& dfa, Stepper& stepper)
    : automaton_(automaton),
      trie_(trie),
      cache_(cache),
      dfa_(dfa),
      stepper_(stepper),
      work_(max_mask_work) {}

// Sorts configurations by the frame they have in common: the uppermost one of a call that does not
// count. Counters above it belong to the key, cut to what one token can see of them, so that a long
// string with a limit has few different keys.
void MaskSearch::add(const Configs& configs, const std::vector<uint32_t>& nodes) {
  const auto sight = static_cast<uint32_t>(trie_.longest_token() + 1);
  std::map<uint32_t, std::vector<LocalKey>> groups;
  std::vector<uint32_t> counters;
  for (const Config& config : configs.items) {
    counters.clear();
    uint32_t base = config.frame;
    while (base != Frames::bottom && automaton_.call(frames_[base].call).counts()) {
      counters.push_back(base);
      base = frames_[base].parent;
    }
    LocalKey part{config.state, static_cast<uint32_t>(counters.size())};
    for (; !counters.empty(); counters.pop_back()) {
      const Frame& frame = frames_[counters.back()];
      part.push_back(frame.call);
      part.push_back(std::min(frame.low, sight));
      part.push_back(frame.high == unbounded ? unbounded : std::min(frame.high, sight));
    }
    groups[base].push_back(std::move(part));
  }
  for (auto& [base, parts] : groups) {
    std::ranges::sort(parts);
    const auto doubles = std::ranges::unique(parts);
    parts.erase(doubles.begin(), doubles.end());
    LocalKey key{unbounded};
    for (const LocalKey& part : parts) key.insert(key.end(), part.begin(), part.end());
    work_ -= std::min<uint64_t>(work_, key.size());
    const auto same = std::ranges::find_if(
        pending_, [&](const Pending& p) { return p.base == base && p.key == key; });
    if (same == pending_.end()) {
      pending_.push_back({base, std::move(key), nodes});
      continue;
    }
    std::vector<uint32_t> all;
    std::ranges::set_union(same->nodes, nodes, std::back_inserter(all));
    same->nodes = std::move(all);
  }
}

// What lies above others may still lead down to them, so that each is followed once.
MaskSearch::Pending MaskSearch::take_deepest() {
  const auto deepest = std::ranges::max_element(
      pending_, {}, [&](const Pending& p) { return frames_[p.base].depth; });
  std::swap(*deepest, pending_.back());
  Pending out = std::move(pending_.back());
  pending_.pop_back();
  return out;
}

LocalWalk MaskSearch::walk(LocalKey key, uint32_t room, std::span<const uint32_t> nodes) {
  LocalWalk out = walk_tokens(dfa_, automaton_, trie_, key, nodes, work_);
  if (out.need <= room) return out;
  key[0] = room;  // near the bottom of what may nest, only some of it
  return walk_tokens(dfa_, automaton_, trie_, key, nodes, work_);
}

std::vector<uint32_t> MaskSearch::follow(Pending pending, std::span<uint64_t> mask) {
  const uint32_t room = automaton_.max_depth() - frames_[pending.base].depth;
  const bool whole = pending.nodes.size() == 1 && pending.nodes[0] == 0;
  if (!whole) {
    LocalWalk found = walk(std::move(pending.key), room, pending.nodes);
    for (size_t i = 0; i < mask.size(); ++i) mask[i] |= found.bits[i];
    return std::move(found.escapes);
  }
  std::shared_ptr<const CachedWalk> found = cache_.find(pending.key);
  if (found == nullptr || found->need > room) {
    LocalKey key = pending.key;
    if (found != nullptr) key[0] = room;
    LocalWalk made = walk(key, room, pending.nodes);
    found = std::make_shared<CachedWalk>(made);
    if (made.complete && made.need <= room && key[0] == unbounded) cache_.keep(key, found);
  }
  found->allow(mask);
  return found->escapes;
}

// When the work ran out, at least what single bytes allow is complete, so that there is a way on.
void MaskSearch::allow_single_bytes(const Configs& configs, std::span<uint64_t> mask) {
  const auto& nodes = trie_.nodes();
  Configs after;
  for (uint32_t at = 1; at < nodes[0].end; at = nodes[at].end) {
    if (nodes[at].first_token == nodes[at + 1].first_token) continue;
    if (!stepper_.step(frames_, automaton_.max_depth(), configs, nodes[at].byte, after)) continue;
    for (uint32_t i = nodes[at].first_token; i < nodes[at + 1].first_token; ++i) {
      mask[trie_.tokens()[i] / 64] |= uint64_t{1} << trie_.tokens()[i] % 64;
    }
  }
}

void MaskSearch::run(const Frames& frames, const Configs& configs, std::span<uint64_t> mask) {
  frames_ = frames;
  pending_.clear();
  add(configs, {0});
  Configs below;
  while (!pending_.empty() && work_ > 0) {
    Pending next = take_deepest();
    const uint32_t base = next.base;
    const std::vector<uint32_t> escapes = follow(std::move(next), mask);
    if (base == Frames::bottom || escapes.empty()) continue;
    const uint64_t before = stepper_.work();
    stepper_.leave(frames_, automaton_.max_depth(), base, below);
    work_ -= std::min(work_, stepper_.work() - before);
    add(below, escapes);
  }
  if (work_ == 0) allow_single_bytes(configs, mask);
}

}  // namespace dure::grammar
