// See mask_search.h.
#include "grammar/mask_search.h"

#include <algorithm>
#include <map>
#include <utility>

#include "grammar/limits.h"

namespace dure::grammar {

namespace {

constexpr uint64_t work_of_a_walk = 500;  // of setting one up

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
                       LazyDfa& dfa, Stepper& stepper, uint64_t work)
    : automaton_(automaton),
      trie_(trie),
      cache_(cache),
      dfa_(dfa),
      stepper_(stepper),
      work_(work) {}

// Sorts configurations by the frame they have in common: the uppermost one of a call that is not
// small. Those above it belong to the key, their counts cut to what a token can see of them.
void MaskSearch::add(const Configs& configs, const std::vector<uint32_t>& nodes) {
  const auto sight = static_cast<uint32_t>(trie_.longest_token() + 1);
  std::map<uint32_t, std::vector<LocalKey>> groups;
  std::vector<uint32_t> above;
  for (const Config& config : configs.items) {
    above.clear();
    uint32_t base = config.frame;
    while (base != Frames::bottom && automaton_.call(frames_[base].call).small) {
      above.push_back(base);
      base = frames_[base].parent;
    }
    LocalKey part{config.state, static_cast<uint32_t>(above.size())};
    for (; !above.empty(); above.pop_back()) {
      const Frame& frame = frames_[above.back()];
      part.push_back(frame.call);
      part.push_back(std::min(frame.low, sight));
      part.push_back(frame.high == unbounded ? unbounded : std::min(frame.high, sight));
    }
    groups[base].push_back(std::move(part));
  }
  for (auto& group : groups) {
    std::vector<LocalKey>& parts = group.second;
    std::ranges::sort(parts);
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    LocalKey key{unbounded};
    for (const LocalKey& part : parts) key.insert(key.end(), part.begin(), part.end());
    work_ -= std::min<uint64_t>(work_, key.size());
    open({group.first, std::move(key)}, nodes);
  }
}

void MaskSearch::open(Group group, const std::vector<uint32_t>& nodes) {
  const uint32_t depth = frames_[group.base].depth;
  const auto at = groups_.try_emplace(std::move(group)).first;
  std::vector<uint32_t> fresh, all;
  std::ranges::set_difference(nodes, at->second.followed, std::back_inserter(fresh));
  std::ranges::set_union(fresh, at->second.open, std::back_inserter(all));
  work_ -= std::min<uint64_t>(work_, nodes.size() + at->second.followed.size() + all.size());
  at->second.open = std::move(all);
  if (!at->second.open.empty()) pending_.emplace(depth, &at->first);
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

std::vector<uint32_t> MaskSearch::follow(const Group& group, std::span<const uint32_t> nodes,
                                         std::span<uint64_t> mask) {
  const uint32_t room = automaton_.max_depth() - frames_[group.base].depth;
  const bool escapes_matter = group.base != Frames::bottom;  // nothing follows the document
  const bool whole = nodes.size() == 1 && nodes[0] == 0;
  if (!whole) {
    LocalWalk found = walk(group.key, room, nodes, {.escapes = escapes_matter});
    for (size_t i = 0; i < mask.size(); ++i) mask[i] |= found.bits[i];
    return std::move(found.escapes);
  }
  // A long string with a limit has another count at every step. Most tokens are short and see no
  // difference between large counts, so that they are walked once; only the long ones are not.
  constexpr uint32_t short_token = 16;  // bytes
  const LocalKey near = cut_counts(group.key, short_token + 1);
  if (near == group.key) {
    const auto found = walk_all(group.key, room, {.escapes = escapes_matter});
    found->allow(mask);
    return found->escapes;
  }
  const auto brief = walk_all(near, room, {.upto = short_token, .escapes = escapes_matter});
  const auto rest = walk_all(group.key, room, {.above = short_token, .escapes = escapes_matter});
  brief->allow(mask);
  rest->allow(mask);
  std::vector<uint32_t> escapes;
  std::ranges::merge(brief->escapes, rest->escapes, std::back_inserter(escapes));
  return escapes;
}

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

bool MaskSearch::run(const Frames& frames, const Configs& configs, std::span<uint64_t> mask) {
  frames_ = frames;
  groups_.clear();
  pending_.clear();
  add(configs, {0});
  Configs below;
  while (!pending_.empty() && work_ > 0) {
    const Group& group = *pending_.begin()->second;
    pending_.erase(pending_.begin());
    Nodes& state = groups_.find(group)->second;
    const std::vector<uint32_t> nodes = std::move(state.open);
    state.open.clear();
    std::vector<uint32_t> followed;
    std::ranges::set_union(state.followed, nodes, std::back_inserter(followed));
    state.followed = std::move(followed);
    const std::vector<uint32_t> escapes = follow(group, nodes, mask);
    work_ -= std::min(work_, work_of_a_walk + state.followed.size());
    if (escapes.empty()) continue;
    const uint64_t before = stepper_.work();
    stepper_.leave(frames_, automaton_.max_depth(), group.base, below);
    work_ -= std::min(work_, stepper_.work() - before);
    add(below, escapes);
  }
  return work_ > 0;
}

}  // namespace dure::grammar
