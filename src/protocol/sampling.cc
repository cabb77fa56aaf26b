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

}  // namespace dure
