// From rows of logits to tokens and log-probabilities: what Backend::sample takes and gives.
//
// A row goes through these steps, in vLLM's order (V1), each on what the one before left:
//   1. tokens that are not in `mask` or `allowed`, or that are `forbidden`, become impossible;
//   2. bias is added;
//   3. penalties of tokens seen before: repetition divides logits above 0 and multiplies the
//      others; then frequency * produced, then presence, if produced at all, are subtracted;
//   4. temperature; below 1e-5 the largest logit is taken and the rest does not matter;
//   5. tokens with less than min_p times the largest probability go;
//   6. all but the top_k largest go;
//   7. of the rest the smallest set of largest tokens whose probability reaches top_p stays;
//   8. one is drawn: the cumulative distribution in order of ids is inverted at
//      philox_uniform(seed, position).
// Equal logits rank by id, lower first; at least one token stays. A row's result depends on nothing
// but the row: not on its batch, nor on threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dure {

struct SampleSpec {
  float temperature = 1.0f;
  int32_t top_k = 0;   // 0 or less: all
  float top_p = 1.0f;  // 1 or more: all
  float min_p = 0.0f;
  uint64_t seed = 0;
};

struct TokenBias {
  int32_t token = 0;
  float bias = 0.0f;
};

struct SeenToken {
  int32_t token = 0;
  int32_t produced = 0;  // how often; 0: it was in the prompt only
};

// What changes a row's logits before anything is drawn. Ids are in the vocabulary.
struct LogitRules {
  std::span<const uint64_t> mask =
      {};  // token t: bit t % 64 of word t / 64; empty: all are allowed
  std::span<const int32_t> allowed = {};  // empty: all
  std::span<const int32_t> forbidden = {};
  std::span<const TokenBias> bias = {};
  std::span<const SeenToken> seen = {};  // no token twice
  float repetition = 1.0f;
  float frequency = 0.0f;
  float presence = 0.0f;

  bool empty() const {
    return mask.empty() && allowed.empty() && forbidden.empty() && bias.empty() && seen.empty();
  }
};

struct SampleRow {
  const float* logits = nullptr;  // [vocab]
  LogitRules rules;
  SampleSpec spec;
  uint64_t position = 0;  // of the token to be drawn
  int32_t given = -1;     // a token that is already known: nothing is drawn
  int32_t logprobs = -1;  // alternatives to tell beside the token; -1: nothing is told
};

// Instead of a token.
inline constexpr int32_t no_distribution = -1;  // a logit is NaN or +inf, or none is above -inf
inline constexpr int32_t nothing_allowed = -2;  // the rules left no token

// Natural logarithms of the softmax of the logits as they came, before steps 1 to 8.
struct TokenLogprob {
  int32_t token = 0;
  float logprob = 0.0f;
};

struct SampledRow {
  int32_t token = no_distribution;
  // Where logprobs are asked and the row is a distribution.
  float logprob = 0.0f;  // of the token
  int32_t rank = 0;      // 1 + how many tokens have a larger logit
  // The largest, as many as asked but none of -inf, in falling order; equal ones: lower id first.
  std::vector<TokenLogprob> top;
};

}  // namespace dure
