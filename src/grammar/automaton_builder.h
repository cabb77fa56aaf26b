// Collects the rules, states and arcs of an automaton in any order, within the limits, and puts
// them into the form that is run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "grammar/automaton.h"

namespace dure::grammar {

class AutomatonBuilder {
 public:
  // `what` names the input in errors ("guided_regex").
  explicit AutomatonBuilder(std::string what) : what_(std::move(what)) {}

  // All of these throw bad_input where a limit is exceeded.
  RuleId add_rule(std::string name);
  StateId start(RuleId rule) const { return made_.rules_[rule].start; }
  StateId end(RuleId rule) const { return made_.rules_[rule].end; }
  StateId add_state();
  void add_bytes(StateId from, uint8_t low, uint8_t high, StateId to);
  void add_text(StateId from, std::string_view text, StateId to);
  void add_epsilon(StateId from, StateId to);
  void add_call(StateId from, RuleId rule, uint32_t low, uint32_t high, StateId to);
  // One of several texts, as a tree of their bytes; equal ones count once.
  void add_choice(StateId from, std::vector<std::string> texts, StateId to);

  // Throws bad_input where a rule would call itself without end before any byte is read, and where
  // nothing at all matches `root`.
  Automaton build(RuleId root);

  const std::string& what() const { return what_; }

 private:
  struct Arc {
    StateId from;
    ByteArc arc;
  };
  struct Epsilon {
    StateId from, to;
  };

  void count_arc();
  void lay_out();

  std::string what_;
  Automaton made_;
  std::vector<Arc> arcs_;
  std::vector<Epsilon> epsilons_;
  size_t arc_count_ = 0;
};

}  // namespace dure::grammar
