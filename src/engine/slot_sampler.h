// What a rank knows of the sequence in a slot to draw its tokens: the parameters of its setup, and
// of its tokens what they need. Everything follows from the setup and the tokens at positions
// before, so that a sampler made anew from a history is the one that lived through it.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/token_history.h"
#include "kernels/sample.h"
#include "protocol/messages.h"

namespace dure {

class SlotSampler {
 public:
  // Takes the slice's setup, if it brings one, and its tokens. Throws `failed` where the slice does
  // not go on where the one before ended, if that matters to drawing, or lacks the next token of
  // its prompt.
  void take(const Slice& slice);

  // Of that slice: the token after its last position. The result looks at the sampler and at the
  // slice, which must stay; logits are the caller's.
  SampleRow next_token(const Slice& slice);

  // Of that slice: how many of its positions, from the first on, a prompt_logprobs entry belongs
  // to, and the row of one.
  int64_t told_prompt_rows(const Slice& slice) const;
  SampleRow prompt_token(const Slice& slice, int64_t index) const;

 private:
  SamplingParams params_;
  std::vector<TokenBias> bias_;
  int64_t prompt_tokens_ = 0;
  bool looks_back_ = false;
  TokenHistory history_;
  std::vector<int32_t> forbidden_;  // of the token drawn next
};

}  // namespace dure
