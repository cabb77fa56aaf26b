// See sampling.h.
#include "protocol/sampling.h"

#include <algorithm>

namespace dure {

bool needs_history(const SamplingParams& params) {
  return params.presence_penalty != 0.0f || params.frequency_penalty != 0.0f ||
         params.repetition_penalty != 1.0f ||
         std::any_of(params.bad_words.begin(), params.bad_words.end(),
                     [](const std::vector<int32_t>& word) { return word.size() > 1; });
}

int64_t bytes_of_lists(const SamplingParams& params) {
  size_t bytes = params.logit_bias.size() * sizeof(LogitBias) +
                 (params.allowed_ids.size() + params.stop_ids.size()) * sizeof(int32_t);
  for (const std::vector<int32_t>& word : params.bad_words) {
    bytes += (word.size() + 1) * sizeof(int32_t);
  }
  return static_cast<int64_t>(bytes);
}

}  // namespace dure
