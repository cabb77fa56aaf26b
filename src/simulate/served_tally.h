// What users saw in a replay, summed request by request. Where fewer requests are replayed than a
// run has, the burst of all users at once is still one of requests_each: the waves after it are
// alike.
#pragma once

#include <algorithm>
#include <cstdint>

#include "simulate/closed_loop.h"

namespace dure {

class ServedTally {
 public:
  void first_token(double seconds, bool in_burst) {
    Sum& sum = in_burst ? burst_ : later_;
    sum.seconds += seconds;
    sum.count += 1.0;
  }

  // `seconds` from its first token to its last.
  void end(double seconds, int64_t output) {
    tokens_ += static_cast<double>(output);
    if (output <= 1) return;
    per_token_.seconds += seconds / static_cast<double>(output - 1);
    per_token_.count += 1.0;
  }

  ServedMeans means(const ClosedLoad& load, const TimeConstants& constants, double seconds) const {
    double ttft = burst_.mean();
    if (later_.count > 0.0) {
      const double share = 1.0 / load.requests_each;
      ttft = share * ttft + (1.0 - share) * later_.mean();
    }
    return {ttft + constants.first_token, per_token_.mean(), tokens_ / seconds};
  }

 private:
  struct Sum {
    double seconds = 0.0;
    double count = 0.0;
    double mean() const { return seconds / std::max(1.0, count); }
  };
  Sum burst_;  // first tokens
  Sum later_;
  Sum per_token_;
  double tokens_ = 0.0;
};

}  // namespace dure
