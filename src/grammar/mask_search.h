// The mask of one step: local walks of the configurations at hand, and where those leave their
// rule, of the ones below, frame by frame down the stack.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "grammar/lazy_dfa.h"
#include "grammar/mask_cache.h"

namespace dure::grammar {

class MaskSearch {
 public:
  MaskSearch(const Automaton& automaton, const TokenTrie& trie, MaskCache& cache, LazyDfa& dfa,
             Stepper& stepper, uint64_t work);

  // Adds the tokens that can follow `configs` over `frames`. False: the work ran out before all
  // were found.
  bool run(const Frames& frames, const Configs& configs, std::span<uint64_t> mask);
  // Adds all tokens of one byte that can follow: then, at least, there is a way on.
  void allow_single_bytes(const Configs& configs, std::span<uint64_t> mask);

  uint64_t work_left() const { return work_; }

 private:
  // Configurations above one frame.
  struct Group {
    uint32_t base;
    LocalKey key;
    auto operator<=>(const Group&) const = default;  // NOLINT(modernize-use-nullptr)
  };
  // Nodes of the trie after which the group's configurations hold, ascending.
  struct Nodes {
    std::vector<uint32_t> open, followed;
  };

  void add(const Configs& configs, const std::vector<uint32_t>& nodes);
  void open(Group group, const std::vector<uint32_t>& nodes);
  std::vector<uint32_t> follow(const Group& group, std::span<const uint32_t> nodes,
                               std::span<uint64_t> mask);
  std::shared_ptr<const CachedWalk> walk_all(const LocalKey& key, uint32_t room, Scope scope);
  LocalWalk walk(LocalKey key, uint32_t room, std::span<const uint32_t> nodes, Scope scope);

  const Automaton& automaton_;
  const TokenTrie& trie_;
  MaskCache& cache_;
  LazyDfa& dfa_;
  Stepper& stepper_;
  Frames frames_;
  std::map<Group, Nodes> groups_;
  // Groups with open nodes, deepest base first: what lies above others still leads down to them.
  std::set<std::pair<uint32_t, const Group*>, std::greater<>> pending_;
  uint64_t work_;
};

}  // namespace dure::grammar
