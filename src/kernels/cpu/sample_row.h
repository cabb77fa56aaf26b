// One row of Backend::sample, shared by all CPU backends.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/logit_row.h"
#include "kernels/cpu/token_weights.h"
#include "kernels/sample.h"

namespace dure {

// Memory for one row at a time; one per thread.
struct SampleScratch {
  std::vector<float> ruled_logits;
  LogitRow ruled;
  LogitRow raw;
  TokenWeights weights;
};

SampledRow sample_row(const SampleRow& row, int64_t vocab, ExpRow exp, SampleScratch& scratch);

}  // namespace dure
