// See local_walk.h.
#include "grammar/local_walk.h"

#include <algorithm>

namespace dure::grammar {

LocalWalk walk_tokens(LazyDfa& dfa, const Automaton& automaton, const TokenTrie& trie,
                      const LocalKey& key, std::span<const uint32_t> starts, Scope scope,
                      uint64_t& work) {
  LocalWalk out;
  out.bits.assign(trie.mask_words(), 0);
  const std::vector<TokenTrie::Node>& nodes = trie.nodes();
  const auto& class_of = automaton.class_of_byte();
  if (dfa.too_large()) dfa.restart({});
  // states[d]: of the node at depth d on the way to the one at hand; made once per start, so that a
  // restart of the automaton can carry all of them over.
  std::vector<uint32_t> states(trie.longest_token() + 1, LazyDfa::dead);
  const uint64_t made_before = dfa.work();
  uint64_t visited = 0;
  uint32_t first = dfa.state_of(key);
  const auto spent = [&] { return visited + dfa.work() - made_before; };
  const auto cut_short = [&] {
    out.complete = false;
    work = 0;
    return out;
  };
  for (const uint32_t start : starts) {
    const size_t base = nodes[start].depth;
    states[base] = first;
    const uint32_t end = nodes[start].end;
    for (uint32_t at = start + 1; at < end;) {
      const TokenTrie::Node& node = nodes[at];
      if (++visited > work) return cut_short();
      if (node.deepest <= scope.above) {
        at = node.end;
        continue;
      }
      const uint8_t byte_class = class_of[node.byte];
      uint32_t state = dfa.known(states[node.depth - 1U], byte_class);
      if (state == LazyDfa::unknown) {
        if (spent() > work) return cut_short();
        if (dfa.too_large()) {
          dfa.restart({states.data() + base, static_cast<size_t>(node.depth - base)});
          first = states[base];
        }
        state = dfa.make(states[node.depth - 1U], byte_class);
      }
      if (state == LazyDfa::dead) {
        at = node.end;
        continue;
      }
      out.need = std::max(out.need, dfa.need(state));
      states[node.depth] = state;
      if (node.depth > scope.above) {
        for (uint32_t i = node.first_token; i < nodes[at + 1].first_token; ++i) {
          const uint32_t token = trie.tokens()[i];
          out.bits[token / 64] |= uint64_t{1} << token % 64;
        }
        if (scope.escapes && dfa.finished(state) && node.end != at + 1) out.escapes.push_back(at);
      }
      at = dfa.reads_on(state) && node.depth < scope.upto ? at + 1 : node.end;
    }
  }
  work -= std::min(work, spent());
  return out;
}

}  // namespace dure::grammar
