// See mask_search.h.
#include "grammar/mask_search.h"

#include <algorithm>
#include <map>
#include <utility>

#include "grammar/limits.h"

namespace dure::grammar {

namespace {

// The key with no count above `sight`, which is unlike any that a shorter token could use up.
LocalKey cut_counts(const LocalKey& key, uint32_t sight) {
  LocalKey out = key;
  for (size_t at = 1; at < out.size();) {
    const uint32_t count = out[at + 1];
    at += 2;
    for (uint32_t i = 0; i < count; ++i, at += 3) {
      out[at + 1] = std::min(out[at + 1], sight);
      if (out[at + 2] != unbounded) out[at + 2] = std::min(out[at + 2], sight);
    }
  }
  return out;
}

}  // namespace

MaskSearch::MaskSearch(const Automaton& automaton, const TokenTrie& trie, MaskCache& cache,
                       LazyDfa& dfa, Stepper& stepper)
    : automaton_(automaton),
      trie_(trie),
      cache_(cache),
      dfa_(dfa),
      stepper_(stepper),
      work_(max_mask_work) {}

// Sorts configurations by the frame they have in common: the uppermost one of a call that does not
// count. Counters above it belong to the key, cut to what a token can see of them.
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
  for (auto& group : groups) {
    const uint32_t base = group.first;
    std::vector<LocalKey>& parts = group.second;
    std::ranges::sort(parts);
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
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

LocalWalk MaskSearch::walk(LocalKey key, uint32_t room, std::span<const uint32_t> nodes,
                           Scope scope) {
  LocalWalk out = walk_tokens(dfa_, automaton_, trie_, key, nodes, scope, work_);
  if (out.need <= room) return out;
  key[0] = room;  // near the bottom of what may nest, only some of it
  out = walk_tokens(dfa_, automaton_, trie_, key, nodes, scope, work_);
  out.cut = true;
  return out;
}

// The walk from the root, from the cache where it holds for this room.
std::shared_ptr<const CachedWalk> MaskSearch::walk_all(const LocalKey& key, uint32_t room,
                                                       Scope scope) {
  LocalKey name = key;
  name.push_back(static_cast<uint32_t>(std::min<size_t>(scope.above, none)));
  name.push_back(static_cast<uint32_t>(std::min<size_t>(scope.upto, none)));
  name.push_back(static_cast<uint32_t>(scope.escapes));
  std::shared_ptr<const CachedWalk> found = cache_.find(name);
  if (found != nullptr && found->need <= room) return found;
  const uint32_t root = 0;
  const LocalWalk made = walk(key, room, {&root, 1}, scope);
  found = std::make_shared<CachedWalk>(made);
  if (made.complete && !made.cut) cache_.keep(name, found);
  return found;
}

std::vector<uint32_t> MaskSearch::follow(const Pending& pending, std::span<uint64_t> mask) {
  const uint32_t room = automaton_.max_depth() - frames_[pending.base].depth;
  const bool escapes_matter = pending.base != Frames::bottom;  // nothing follows the document
  const bool whole = pending.nodes.size() == 1 && pending.nodes[0] == 0;
  if (!whole) {
    LocalWalk found = walk(pending.key, room, pending.nodes, {.escapes = escapes_matter});
    for (size_t i = 0; i < mask.size(); ++i) mask[i] |= found.bits[i];
    return std::move(found.escapes);
  }
  // A long string with a limit has another count at every step. Most tokens are short and see no
  // difference between large counts, so that they are walked once; only the long ones are not.
  constexpr uint32_t short_token = 16;  // bytes
  const LocalKey near = cut_counts(pending.key, short_token + 1);
  if (near == pending.key) {
    const auto found = walk_all(pending.key, room, {.escapes = escapes_matter});
    found->allow(mask);
    return found->escapes;
  }
  const auto brief = walk_all(near, room, {.upto = short_token, .escapes = escapes_matter});
  const auto rest = walk_all(pending.key, room, {.above = short_token, .escapes = escapes_matter});
  brief->allow(mask);
  rest->allow(mask);
  std::vector<uint32_t> escapes;
  std::ranges::merge(brief->escapes, rest->escapes, std::back_inserter(escapes));
  return escapes;
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
    const Pending next = take_deepest();
    const uint32_t base = next.base;
    const std::vector<uint32_t> escapes = follow(next, mask);
    if (escapes.empty()) continue;
    const uint64_t before = stepper_.work();
    stepper_.leave(frames_, automaton_.max_depth(), base, below);
    work_ -= std::min(work_, stepper_.work() - before);
    add(below, escapes);
  }
  if (work_ == 0) allow_single_bytes(configs, mask);
}

}  // namespace dure::grammar
