// Log-probabilities in the shapes of OpenAI's two APIs and of vLLM. Impossible tokens have -9999.0,
// which JSON can hold.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/json.h"
#include "protocol/sampling.h"
#include "server/vocabulary.h"

namespace dure {

// {"content": [{token, logprob, bytes, top_logprobs}]}, with `alternatives` entries of the last.
Json chat_logprobs(std::span<const TokenLogprobs> tokens, int32_t alternatives,
                   const TokenTexts& texts);

// The lists of a completion: tokens, token_logprobs, top_logprobs (the token itself and
// `alternatives` others) and text_offset, in characters of the choice's text.
class CompletionLogprobs {
 public:
  CompletionLogprobs(int32_t alternatives, const TokenTexts& texts);

  // Text that stands in front without log-probabilities of its tokens.
  void skip(std::string_view text);
  // A prompt's first token: nothing came before it that it could follow from.
  void add_first(int32_t token);
  void add(std::span<const TokenLogprobs> tokens);
  // What was added since the last call.
  Json take();

 private:
  void add_text(int32_t token);

  int32_t alternatives_;
  const TokenTexts& texts_;
  int64_t offset_ = 0;
  std::shared_ptr<Json> lists_;
};

// vLLM's prompt_logprobs: null for the first token, then an object for each, from ids to
// {logprob, rank, decoded_token}.
Json prompt_logprobs_json(std::span<const TokenLogprobs> tokens, int32_t alternatives,
                          const TokenTexts& texts);

}  // namespace dure
