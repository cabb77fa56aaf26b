// See slot_sampler.h.
#include "engine/slot_sampler.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace dure {
namespace {

int64_t end_of(const Slice& slice) {
  return slice.start + static_cast<int64_t>(slice.tokens.size());
}

}  // namespace

void SlotSampler::take(const Slice& slice) {
  if (slice.setup) {
    params_ = slice.setup->sampling;
    prompt_tokens_ = slice.setup->prompt_tokens;
    looks_back_ = needs_history(params_);
    bias_.clear();
    for (const LogitBias& each : params_.logit_bias) bias_.push_back({each.token, each.bias});
    history_ = TokenHistory(params_, prompt_tokens_);
    if (looks_back_) history_.add(slice.setup->history);
  }
  if (looks_back_) {
    if (history_.tokens() != slice.start) {
      throw Error(ErrorCode::failed,
                  fmt::format("sequence {}: a slice starts at position {}, but its tokens before "
                              "are known up to {}",
                              slice.sequence, slice.start, history_.tokens()));
    }
    history_.add(slice.tokens);
  }
  if (params_.prompt_logprobs >= 0 && end_of(slice) < prompt_tokens_ && slice.next_token < 0) {
    throw Error(ErrorCode::failed,
                fmt::format("sequence {}: the prompt's token at position {} is not given",
                            slice.sequence, end_of(slice)));
  }
}

SampleRow SlotSampler::next_token(const Slice& slice) {
  const int64_t position = end_of(slice);
  forbidden_.clear();
  for (const std::vector<int32_t>& word : params_.bad_words) {
    if (history_.ends_with({word.data(), word.size() - 1})) forbidden_.push_back(word.back());
  }
  if (position - prompt_tokens_ < params_.min_tokens) {
    forbidden_.insert(forbidden_.end(), params_.stop_ids.begin(), params_.stop_ids.end());
  }
  SampleRow row;
  row.rules.mask = slice.mask;
  row.rules.allowed = params_.allowed_ids;
  row.rules.forbidden = forbidden_;
  row.rules.bias = bias_;
  row.rules.seen = history_.seen();
  row.rules.repetition = params_.repetition_penalty;
  row.rules.frequency = params_.frequency_penalty;
  row.rules.presence = params_.presence_penalty;
  row.spec = {params_.temperature, params_.top_k, params_.top_p, params_.min_p, params_.seed};
  row.position = static_cast<uint64_t>(position);
  row.logprobs = params_.logprobs;
  return row;
}

int64_t SlotSampler::told_prompt_rows(const Slice& slice) const {
  if (params_.prompt_logprobs < 0) return 0;
  const auto tokens = static_cast<int64_t>(slice.tokens.size());
  return std::clamp<int64_t>(prompt_tokens_ - 1 - slice.start, 0, tokens);
}

SampleRow SlotSampler::prompt_token(const Slice& slice, int64_t index) const {
  const auto next = static_cast<size_t>(index) + 1;
  SampleRow row;
  row.given = next < slice.tokens.size() ? slice.tokens[next] : slice.next_token;
  row.logprobs = params_.prompt_logprobs;
  return row;
}

}  // namespace dure
