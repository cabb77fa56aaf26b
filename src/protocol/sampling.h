// How a sequence's tokens are drawn, and what is told about them: every sampling parameter of the
// OpenAI and vLLM APIs, checked by the front before it is sent.
#pragma once

#include <cstdint>
#include <vector>

namespace dure {

struct LogitBias {
  int32_t token = 0;
  float bias = 0.0f;  // added to the logit
};

struct SamplingParams {
  float temperature = 0.0f;  // below 1e-5: greedy
  float top_p = 1.0f;        // in (0, 1]
  float min_p = 0.0f;        // in [0, 1]
  int32_t top_k = 0;         // 0: all
  uint64_t seed = 0;         // Philox key; the counter is the token's position

  float presence_penalty = 0.0f;    // of tokens produced so far
  float frequency_penalty = 0.0f;   // times how often they were produced
  float repetition_penalty = 1.0f;  // above 0; of tokens of the prompt and produced so far

  std::vector<LogitBias> logit_bias;            // no token twice
  std::vector<int32_t> allowed_ids;             // empty: all
  std::vector<std::vector<int32_t>> bad_words;  // none empty; never completed among produced tokens

  int32_t min_tokens = 0;         // before as many are produced ...
  std::vector<int32_t> stop_ids;  // ... these are impossible

  // Alternatives told beside each token itself; -1: nothing is told.
  int32_t logprobs = -1;         // of produced tokens
  int32_t prompt_logprobs = -1;  // of prompt tokens
};

// Whether drawing looks at the tokens that came before: only then does a setup carry them.
bool needs_history(const SamplingParams& params);

int64_t bytes_of_lists(const SamplingParams& params);

// What the ranks must know of a sequence to draw its tokens. They keep it in the slot
// (Slice::state) from the slice that brings it until the next setup for that slot.
struct SequenceSetup {
  SamplingParams sampling;
  int32_t prompt_tokens = 0;  // those at positions below are the prompt's, the others were produced
  // The tokens at positions [0, Slice::start), however they came into the cache: by a prefix hit,
  // or by swapping in. Empty where needs_history() says no.
  std::vector<int32_t> history;
};

// Logarithms of probabilities are of the model's own distribution: log-softmax of the raw logits,
// before bias, masks, penalties and temperature (OpenAI's, and vLLM's default).
struct TopLogprob {
  int32_t token = 0;
  float logprob = 0.0f;
};

struct TokenLogprobs {
  int32_t token = 0;
  float logprob = 0.0f;  // NaN where a prompt token's logits were no distribution
  int32_t rank = 0;      // 1: no token has a larger logit; counts the tokens that do
  // The most probable tokens, as many as were asked for (fewer if the vocabulary is smaller), the
  // most probable first, the lower id first among equals. The token itself is among them only where
  // it is one of them.
  std::vector<TopLogprob> top;
};

}  // namespace dure
