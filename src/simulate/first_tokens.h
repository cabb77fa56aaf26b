// Mean times to first tokens where fewer requests are replayed than a run has: the burst of all
// users at once is one of requests_each, and the waves after it are alike.
#pragma once

#include "simulate/closed_loop.h"

namespace dure {

class FirstTokens {
 public:
  void add(double seconds, bool in_burst) {
    Sum& sum = in_burst ? burst_ : later_;
    sum.seconds += seconds;
    sum.count += 1.0;
  }

  double mean(const ClosedLoad& load) const {
    if (later_.count == 0.0) return burst_.mean();
    const double share = 1.0 / load.requests_each;
    return share * burst_.mean() + (1.0 - share) * later_.mean();
  }

 private:
  struct Sum {
    double seconds = 0.0;
    double count = 0.0;
    double mean() const { return count > 0.0 ? seconds / count : 0.0; }
  };
  Sum burst_;
  Sum later_;
};

}  // namespace dure
