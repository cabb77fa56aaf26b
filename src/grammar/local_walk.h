// Which tokens can be read from a set of configurations without knowing the stack below them: a
// walk through the tree of tokens beside the lazy automaton.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grammar/lazy_dfa.h"
#include "grammar/token_trie.h"

namespace dure::grammar {

struct LocalWalk {
  std::vector<uint64_t> bits;  // [mask words]: tokens that can be read to their end
  std::vector<uint32_t>
      escapes;           // nodes of the trie, with others below, where the common frame ends
  uint32_t need = 0;     // the result holds for every room of at least this many frames
  bool cut = false;      // made for one room only
  bool complete = true;  // false: the work ran out, tokens may be missing
};

// Which part of a walk is wanted.
struct Scope {
  size_t above = 0, upto = SIZE_MAX;  // tokens of more bytes than the one, at most the other
  bool escapes = true;
};

// Below the nodes `starts`, which have been read when `key` holds. `work` counts down.
LocalWalk walk_tokens(LazyDfa& dfa, const Automaton& automaton, const TokenTrie& trie,
                      const LocalKey& key, std::span<const uint32_t> starts, Scope scope,
                      uint64_t& work);

}  // namespace dure::grammar
