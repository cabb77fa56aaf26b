// What has to be known of a whole automaton before it can be run: which rules may be empty, which
// states can end and at what depth, whether a rule calls itself before it reads anything.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "grammar/automaton.h"

namespace dure::grammar {

class AutomatonAnalysis {
 public:
  AutomatonAnalysis(Automaton& automaton, std::string_view what);
  // Fills in nullable rules, last calls, heights and classes. Throws bad_input for left recursion
  // and for a root that matches nothing.
  void run();

 private:
  void find_nullable();
  void find_last_calls();
  void find_small_calls();
  void find_heights();
  void refuse_left_recursion() const;
  void find_classes();
  // Calls that the rule may begin with.
  std::vector<RuleId> first_calls(RuleId rule, std::vector<uint32_t>& seen) const;

  Automaton& automaton_;
  std::string_view what_;
};

}  // namespace dure::grammar
