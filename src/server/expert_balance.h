// How evenly experts load their ranks: of each MoE layer, the busiest rank's token slots divided by
// the mean of all ranks that hold experts of it. 1 is even, the number of ranks is the worst. Of
// the last one to two minutes, so that a change of the traffic shows; of all time where nothing ran
// in these.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include "protocol/messages.h"

namespace dure {

class ExpertBalance {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds window{60};

  // Totals since the server started, told often.
  void heard(const GroupStats& totals, Time now);

  struct Ratio {
    int32_t layer = 0;
    double ratio = 1.0;
  };
  std::vector<Ratio> ratios() const;  // by layer

 private:
  using Loads = std::map<int32_t, std::vector<int64_t>>;  // by layer: of each rank that has experts

  Loads now_;
  Loads window_begin_;  // of the one that is being filled
  Loads before_;        // begin of the one before that
  Time begun_{};
};

}  // namespace dure
