// See step_pace.h.
#include "schedule/step_pace.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace dure {
namespace {

constexpr double weight_of_new = 0.2;
constexpr double weight_of_old = 0.9;  // of a mixed step, for each one after it
// Contexts grow, so what decoding alone takes is measured again now and then.
constexpr int32_t steps_between_probes = 64;
constexpr double least_tokens = 8.0;
// Below this spread of chunk sizes (relative) a line through them says nothing of its slope.
constexpr double least_spread = 0.1;
constexpr double growth = 2.0;  // of a chunk over the last one: estimates may be wrong

}  // namespace

double paced_tokens(double stretch, double alone, const PromptCost& cost) {
  const double each = std::max(cost.each, 1e-12);
  const double within = ((stretch - 1.0) * alone - cost.fixed) / each;
  return std::clamp(std::max(within, cost.fixed / each), least_tokens, 1e9);
}

void StepPace::Mean::add(double sample) {
  value = known ? (1.0 - weight_of_new) * value + weight_of_new * sample : sample;
  known = true;
}

size_t StepPace::bucket(int32_t decodes) {
  return static_cast<size_t>(std::bit_width(static_cast<uint32_t>(decodes)) - 1);
}

int32_t StepPace::most_prompt_tokens(int32_t decodes) const {
  constexpr int32_t no_limit = std::numeric_limits<int32_t>::max();
  if (stretch_ <= 1.0 || decodes == 0 || blind_) return no_limit;
  const Mean& alone = decode_[bucket(decodes)];
  if (!alone.known || mixed_in_a_row_ >= steps_between_probes) return 0;
  const double grown = growth * std::max(0.5 * least_tokens, static_cast<double>(last_taken_));
  const double tokens =
      cost_known_ ? std::min(grown, paced_tokens(stretch_, alone.value, cost_)) : grown;
  return static_cast<int32_t>(tokens);
}

void StepPace::saw(int32_t decodes, int32_t prompt_tokens, double seconds) {
  blind_ = !std::isfinite(seconds) || seconds <= 0.0;
  if (blind_ || decodes == 0) return;
  Mean& alone = decode_[bucket(decodes)];
  if (prompt_tokens == 0) {
    alone.add(seconds);
    mixed_in_a_row_ = 0;
    return;
  }
  ++mixed_in_a_row_;
  last_taken_ = prompt_tokens;
  if (alone.known) learn(prompt_tokens, std::max(0.0, seconds - alone.value));
}

// Least squares.
void StepPace::learn(double tokens, double seconds) {
  weight_ = weight_of_old * weight_ + 1.0;
  tokens_ = weight_of_old * tokens_ + tokens;
  tokens_squared_ = weight_of_old * tokens_squared_ + tokens * tokens;
  seconds_ = weight_of_old * seconds_ + seconds;
  product_ = weight_of_old * product_ + tokens * seconds;
  const double mean = tokens_ / weight_;
  const double mean_seconds = seconds_ / weight_;
  const double variance = tokens_squared_ / weight_ - mean * mean;
  if (variance > least_spread * least_spread * mean * mean) {
    cost_.each = std::max(0.0, (product_ / weight_ - mean * mean_seconds) / variance);
    cost_known_ = true;
  }
  cost_.each = std::min(cost_.each, mean_seconds / mean);
  cost_.fixed = mean_seconds - cost_.each * mean;
}

}  // namespace dure
