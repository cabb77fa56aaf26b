// Which of several prompts goes first where all could share alike: the one that would be done first
// if they did. Short ones need not wait for long ones, and none is done later than if all had the
// same share of every step: the fair sojourn protocol (Friedman and Henderson, SIGMETRICS 2003).
#pragma once

#include <cstdint>
#include <set>

namespace dure {

class FairFinish {
 public:
  // A prompt with so many tokens to go. Returns where it stands: lower goes first.
  double enter(int32_t tokens);
  // It does not go on; nothing to be said of those that are done.
  void leave(double place);
  // So many tokens were computed, of whichever.
  void served(int32_t tokens);

 private:
  // Tokens that each would have had that is here since the beginning, if all shared alike; and the
  // places of those that would not be done.
  double now_ = 0.0;
  std::multiset<double> places_;
};

}  // namespace dure
