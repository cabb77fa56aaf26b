// The deterministic automaton of what can be read on top of a stack that is not known, made state
// by state as it is needed and forgotten when it has become too large (as RE2 does for plain
// regular expressions; Cox, "Regular Expression Matching in the Wild", 2010).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grammar/automaton.h"
#include "grammar/frames.h"
#include "grammar/stepper.h"

namespace dure::grammar {

// A set of configurations above a common frame, in a form that does not name frames:
// {room, then for each configuration: state, number of frames, {call, low, high} of each frame from
// the lowest}. room: how many frames the stack may still grow above the common one, or unbounded.
using LocalKey = std::vector<uint32_t>;

// Not for several threads at once.
class LazyDfa {
 public:
  static constexpr uint32_t dead = 0;
  static constexpr uint32_t unknown = UINT32_MAX;

  explicit LazyDfa(const Automaton& automaton);

  uint32_t state_of(const LocalKey& key);
  // The state after a byte of the class, if it has been made already, or unknown.
  uint32_t known(uint32_t state, uint8_t byte_class) const {
    return table_[size_t{state} * classes_ + byte_class];
  }
  uint32_t make(uint32_t state, uint8_t byte_class);

  bool finished(uint32_t state) const { return states_[state].finished; }  // the common frame ends
  bool reads_on(uint32_t state) const { return states_[state].count != 0; }
  // The room that is needed to come here with nothing lost.
  uint32_t need(uint32_t state) const { return states_[state].need; }

  uint64_t work() const { return work_ + stepper_.work(); }
  bool too_large() const;
  // Forgets all states but those in `kept`, whose ids change in place.
  void restart(std::span<uint32_t> kept);

 private:
  struct State {
    uint64_t hash;
    size_t begin;  // into configs_
    uint32_t count;
    uint32_t room, need;
    bool finished;
  };

  uint32_t intern(uint32_t room, const Configs& configs, uint32_t need);
  void rehash(size_t slots);

  const Automaton& automaton_;
  size_t classes_;
  Stepper stepper_;
  Frames frames_;
  std::vector<State> states_;
  std::vector<Config> configs_;
  std::vector<uint32_t> table_;  // [states, classes]
  std::vector<uint32_t> slots_;  // open addressing: state + 1
  Configs from_, to_;            // working memory
  uint64_t work_ = 0;
};

}  // namespace dure::grammar
