// A recursive transition network over bytes (Woods, "Transition Network Grammars for Natural
// Language Analysis", CACM 1970): each rule is a nondeterministic automaton whose arcs read a byte,
// nothing, or another rule, as often as {low, high} says. Everything that constrains an answer
// becomes one.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dure::grammar {

using StateId = uint32_t;
using RuleId = uint32_t;
constexpr uint32_t unbounded = UINT32_MAX;  // as the high count of a call
constexpr uint32_t none = UINT32_MAX;

struct ByteArc {
  uint8_t low, high;  // inclusive
  StateId to;
};

// Reads `rule`, each time at least one byte of it, low to high times.
struct Call {
  RuleId rule;
  uint32_t low, high;
  StateId to;
  bool last;  // nothing follows in the calling rule, and it is called once: needs no frame
  // It counts, or the rule is but a few bytes long: a token often leaves it and comes back, so that
  // masks are made for it and its caller together.
  bool small;
};

struct Rule {
  std::string name;  // for messages
  StateId start, end;
  bool nullable = false;
};

// Immutable and safe from several threads.
class Automaton {
 public:
  std::span<const ByteArc> bytes(StateId state) const {
    return {bytes_.data() + bytes_begin_[state], bytes_.data() + bytes_begin_[state + 1]};
  }
  std::span<const StateId> epsilons(StateId state) const {
    return {epsilons_.data() + epsilons_begin_[state],
            epsilons_.data() + epsilons_begin_[state + 1]};
  }
  uint32_t call_of(StateId state) const { return call_of_[state]; }  // or none
  const Call& call(uint32_t id) const { return calls_[id]; }
  const Rule& rule(RuleId id) const { return rules_[id]; }
  bool is_end(StateId state) const { return is_end_[state]; }
  size_t states() const { return call_of_.size(); }

  // How many frames at least must still be put on the stack before the rule of `state` can end;
  // unbounded where it never can.
  uint32_t height(StateId state) const { return heights_[state]; }
  uint32_t tallest() const { return tallest_; }      // of the states that can end
  uint32_t max_depth() const { return max_depth_; }  // frames on a stack
  RuleId root() const { return root_; }

  // Bytes that no arc tells apart are one class.
  const std::array<uint8_t, 256>& class_of_byte() const { return class_of_byte_; }
  const std::vector<uint8_t>& byte_of_class() const { return byte_of_class_; }

 private:
  friend class AutomatonBuilder;
  friend class AutomatonAnalysis;

  std::vector<uint32_t> bytes_begin_, epsilons_begin_;  // [states + 1]
  std::vector<ByteArc> bytes_;
  std::vector<StateId> epsilons_;
  std::vector<uint32_t> call_of_;  // [states]
  std::vector<Call> calls_;
  std::vector<Rule> rules_;
  std::vector<bool> is_end_;       // [states]
  std::vector<uint32_t> heights_;  // [states]
  uint32_t tallest_ = 0;
  uint32_t max_depth_ = 0;
  RuleId root_ = 0;
  std::array<uint8_t, 256> class_of_byte_{};
  std::vector<uint8_t> byte_of_class_;
};

}  // namespace dure::grammar
