// What penalties and bad words need to know of a sequence's tokens so far: how often each was
// produced, which the prompt holds, and the last few produced. Grows with the distinct tokens, not
// with the vocabulary.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "kernels/sample.h"
#include "protocol/sampling.h"

namespace dure {

class TokenHistory {
 public:
  TokenHistory() = default;
  TokenHistory(const SamplingParams& params, int64_t prompt_tokens);

  // The sequence's next tokens.
  void add(std::span<const int32_t> tokens);

  int64_t tokens() const { return tokens_; }
  std::span<const SeenToken> seen() const { return seen_; }
  // Whether the last produced tokens are these; true for none. Not more than the longest bad word.
  bool ends_with(std::span<const int32_t> produced) const;

 private:
  bool keeps_prompt_ = false;  // tokens of the prompt are penalized too
  bool keeps_produced_ = false;
  int64_t prompt_tokens_ = 0;
  int64_t tokens_ = 0;
  std::vector<SeenToken> seen_;
  std::unordered_map<int32_t, size_t> place_;  // in seen_
  size_t tail_size_ = 0;
  std::vector<int32_t> tail_;  // the last tail_size_ produced
};

}  // namespace dure
