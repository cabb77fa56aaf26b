// The tokens that may still be drawn and how much each weighs: e^((logit - largest) / temperature),
// 0 for those that a filter has dropped. Sums are kept by block, and blocks without weight are
// passed over. Shared by all CPU backends.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/cpu/logit_row.h"

namespace dure {

// out[i] = e^x[i] for x <= 0, within a few units in the last place; out may be x.
using ExpRow = void (*)(const float* x, int64_t count, float* out);

class TokenWeights {
 public:
  // All tokens of a row that is a distribution, or those that rank no lower than `last`. The row
  // must stay while this is used.
  void weigh(const LogitRow& row, float temperature, ExpRow exp,
             const std::optional<RankedLogit>& last = std::nullopt);

  double sum() const;

  void drop_lighter_than(double least);
  void drop_below(const RankedLogit& last);

  // The last one of the smallest set of tokens, by rank, that weighs `mass` or more, which is above
  // 0 and below sum().
  RankedLogit last_of_mass(double mass);

  // The token at which the cumulative weight, in order of ids, first exceeds `target`.
  int32_t at_cumulative(double target) const;

 private:
  struct Candidate {
    RankedLogit ranked;
    double weight = 0.0;
  };
  static RankedLogit last_within(std::vector<Candidate>& candidates, double mass);
  template <class Use>
  void each_bucketed(float least, const Use& use) const;
  void drop_block(size_t block);
  void add_up(size_t block);

  const LogitRow* row_ = nullptr;
  float temperature_ = 1.0f;
  std::vector<float> weights_;
  std::vector<double> block_sum_;
  std::vector<double> bucket_sum_;  // scratch, as is
  std::vector<Candidate> candidates_;
};

}  // namespace dure
