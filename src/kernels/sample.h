// Draws a token from one row of logits.
#pragma once

#include <cstdint>
#include <span>

namespace dure {

struct SampleSpec {
  float temperature = 1.0f;  // below 1e-5: greedy
  int32_t top_k = 0;         // 0 or less: all
  float top_p = 1.0f;        // 1 or more: all
  float min_p = 0.0f;        // relative to the largest probability
  uint64_t seed = 0;
};

// The id of the drawn token, or -1 if the row is no distribution (empty, a NaN or +inf in it, or
// nothing above -inf). Logits of -inf are never drawn.
//
// The filters apply in this order, each to what the one before left: temperature; the top_k
// largest; the smallest set of largest tokens whose probability reaches top_p; those with at least
// min_p times the largest probability. Equal logits rank by id, lower first; at least one token
// stays. The draw inverts the cumulative distribution in order of ids, in double, at
// philox_uniform(seed, position). Greedy takes the largest logit, lowest id first.
int32_t sample(std::span<const float> logits, const SampleSpec& spec, uint64_t position);

}  // namespace dure
