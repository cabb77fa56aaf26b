// See token_history.h.
#include "engine/token_history.h"

#include <algorithm>

namespace dure {

TokenHistory::TokenHistory(const SamplingParams& params, int64_t prompt_tokens)
    : keeps_prompt_(params.repetition_penalty != 1.0f),
      keeps_produced_(keeps_prompt_ || params.presence_penalty != 0.0f ||
                      params.frequency_penalty != 0.0f),
      prompt_tokens_(prompt_tokens) {
  for (const std::vector<int32_t>& word : params.bad_words) {
    tail_size_ = std::max(tail_size_, word.size() - 1);
  }
}

void TokenHistory::add(std::span<const int32_t> tokens) {
  for (const int32_t token : tokens) {
    const bool produced = tokens_++ >= prompt_tokens_;
    if (produced ? keeps_produced_ : keeps_prompt_) {
      const auto [place, is_new] = place_.try_emplace(token, seen_.size());
      if (is_new) seen_.push_back({token, 0});
      if (produced) ++seen_[place->second].produced;
    }
    if (produced && tail_size_ > 0) {
      if (tail_.size() == tail_size_) tail_.erase(tail_.begin());
      tail_.push_back(token);
    }
  }
}

bool TokenHistory::ends_with(std::span<const int32_t> produced) const {
  return produced.size() <= tail_.size() &&
         std::equal(produced.begin(), produced.end(),
                    tail_.end() - static_cast<int64_t>(produced.size()));
}

}  // namespace dure
