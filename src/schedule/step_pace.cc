// See step_pace.h.
#include "schedule/step_pace.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace dure {
namespace {

constexpr double weight_of_new = 0.2;
// Contexts grow, so what decoding alone takes is measured again now and then.
constexpr int32_t steps_between_probes = 64;
constexpr double least_tokens = 8.0;  // a prompt goes on, whatever it takes

}  // namespace

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
  if (!prompt_token_.known || prompt_token_.value <= 0.0) return static_cast<int32_t>(least_tokens);
  const double tokens = (stretch_ - 1.0) * alone.value / prompt_token_.value;
  return static_cast<int32_t>(std::clamp(tokens, least_tokens, 1e9));
}

void StepPace::saw(int32_t decodes, int32_t prompt_tokens, double seconds) {
  blind_ = !std::isfinite(seconds) || seconds <= 0.0;
  if (blind_) return;
  if (decodes > 0 && prompt_tokens == 0) {
    decode_[bucket(decodes)].add(seconds);
    mixed_in_a_row_ = 0;
  } else if (decodes > 0) {
    ++mixed_in_a_row_;
    const Mean& alone = decode_[bucket(decodes)];
    if (alone.known) {
      prompt_token_.add(std::max(0.0, seconds - alone.value) / static_cast<double>(prompt_tokens));
    }
  }
}

}  // namespace dure
