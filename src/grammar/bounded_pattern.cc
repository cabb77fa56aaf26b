// See bounded_pattern.h.
#include "grammar/bounded_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/error.h"

namespace dure::grammar {
namespace {

using Kind = Expression::Kind;

constexpr size_t most_states = 20'000;     // of the pattern over characters
constexpr size_t most_products = 100'000;  // pairs of such a state and a count

// Thompson's construction over characters.
class CharacterAutomaton {
 public:
  struct Arc {
    size_t set;  // into sets
    uint32_t to;
  };

  CharacterAutomaton(const Expression& expression, std::string_view what) : what_(what) {
    const uint32_t from = add_state();
    end = add_state();
    add(expression, from, end);
  }

  std::vector<std::vector<Arc>> arcs;
  std::vector<std::vector<uint32_t>> epsilons;
  std::vector<CodePoints> sets;
  uint32_t end = 0;

 private:
  uint32_t add_state() {
    if (arcs.size() >= most_states) {
      throw_bad_input(
          fmt::format("{}: needs more than {} states together with its length", what_, most_states),
          "leave out minLength and maxLength, or use smaller counts in the pattern");
    }
    arcs.emplace_back();
    epsilons.emplace_back();
    return static_cast<uint32_t>(arcs.size() - 1);
  }

  void add_character(const CodePoints& set, uint32_t from, uint32_t to) {
    auto at = std::ranges::find(sets, set);
    if (at == sets.end()) at = sets.insert(at, set);
    arcs[from].push_back({static_cast<size_t>(at - sets.begin()), to});
  }

  void add(const Expression& e, uint32_t from, uint32_t to) {
    switch (e.kind) {
      case Kind::characters:
        return add_character(e.set, from, to);
      case Kind::choice:
        for (const Expression& part : e.parts) add(part, from, to);
        return;
      case Kind::sequence:
        for (const Expression& part : e.parts) {
          const uint32_t next = add_state();
          add(part, from, next);
          from = next;
        }
        epsilons[from].push_back(to);
        return;
      case Kind::repeat:
        return add_repeat(e, from, to);
      default:
        break;
    }
    DURE_CHECK(!"patterns hold characters only");
  }

  void add_repeat(const Expression& e, uint32_t from, uint32_t to) {
    for (uint32_t i = 0; i < e.low; ++i) {
      const uint32_t next = add_state();
      add(e.parts[0], from, next);
      from = next;
    }
    if (e.high == unbounded) {
      const uint32_t loop = add_state(), back = add_state();
      epsilons[from].push_back(loop);
      add(e.parts[0], loop, back);
      epsilons[back].push_back(loop);
      epsilons[loop].push_back(to);
      return;
    }
    for (uint32_t i = e.low; i < e.high; ++i) {
      const uint32_t next = add_state();
      add(e.parts[0], from, next);
      epsilons[from].push_back(to);
      from = next;
    }
    epsilons[from].push_back(to);
  }

  std::string_view what_;
};

}  // namespace

void add_bounded_pattern(AutomatonBuilder& builder, Encoding encoding, const Expression& expression,
                         uint32_t low, uint32_t high, std::string_view what, StateId from,
                         StateId to) {
  const CharacterAutomaton pattern(expression, what);
  std::vector<RuleId> rules;  // of the sets of characters
  Emitter emitter(builder, encoding);
  for (const CodePoints& set : pattern.sets) {
    rules.push_back(builder.add_rule("a character"));
    emitter.emit_characters(set, builder.start(rules.back()), builder.end(rules.back()));
  }
  // Without an upper limit, counts from the lower one on are alike.
  const uint32_t most = high == unbounded ? low : high;
  std::map<std::pair<uint32_t, uint32_t>, StateId> made;
  std::vector<std::pair<uint32_t, uint32_t>> open;
  const auto state_of = [&](uint32_t at, uint32_t count) {
    const auto [found, fresh] = made.try_emplace({at, count}, 0);
    if (fresh) {
      if (made.size() > most_products) {
        throw_bad_input(fmt::format("{}: needs more than {} states together with its length", what,
                                    most_products),
                        "leave out minLength and maxLength, or make them smaller");
      }
      found->second = builder.add_state();
      open.emplace_back(at, count);
    }
    return found->second;
  };
  builder.add_epsilon(from, state_of(0, 0));
  while (!open.empty()) {
    const auto [at, count] = open.back();
    open.pop_back();
    const StateId state = made[{at, count}];
    if (at == pattern.end && count >= low) builder.add_epsilon(state, to);
    for (const uint32_t next : pattern.epsilons[at])
      builder.add_epsilon(state, state_of(next, count));
    if (count == most && high != unbounded) continue;
    for (const CharacterAutomaton::Arc& arc : pattern.arcs[at]) {
      builder.add_call(state, rules[arc.set], 1, 1, state_of(arc.to, std::min(count + 1, most)));
    }
  }
}

}  // namespace dure::grammar
