// The JSON of completions and chat completions, whole and in chunks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "server/answer_reading.h"
#include "server/generation.h"
#include "server/vocabulary.h"

namespace dure {

// What all objects of one answer share.
struct AnswerHead {
  std::string id;
  int64_t created = 0;  // Unix seconds
  std::string model;
  bool chat = true;              // else a plain completion
  bool include_usage = false;    // stream_options.include_usage
  int32_t logprobs = -1;         // alternatives told beside each token; -1: nothing is told
  int32_t prompt_logprobs = -1;  // the same of the prompt, in vLLM's form
  std::shared_ptr<const TokenTexts> texts = nullptr;  // where log-probabilities are told
};

struct Usage {
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;  // of the prompts
  int64_t completion_tokens = 0;
};

// What a request decided about one choice of its answer.
struct ChoicePlan {
  std::string echo;           // shown in front: the prompt
  int32_t first_token = -1;   // of the prompt, where its log-probabilities are echoed
  bool counts_prompt = true;  // the first choice of its prompt
  ReadingPlan reading;
  bool without_answer = false;  // what the model says is dropped
};

struct ToldCall {
  std::string id;
  std::string name;
  std::string arguments;
};

struct Choice {
  ChoicePlan plan;
  std::string text;
  std::string reasoning;
  std::vector<ToldCall> calls;
  std::string finish_reason;
  std::vector<TokenLogprobs> prompt;  // without its first token
  std::vector<TokenLogprobs> tokens;
  GenerationEnd end;
};

// "chatcmpl-" or "cmpl-" and the request's id.
std::string answer_id(bool chat, const std::string& request_id);

std::string whole_answer(const AnswerHead& head, const std::vector<Choice>& choices);

void add_usage(Usage& usage, const ChoicePlan& plan, const GenerationEnd& end);

// Chunks of a stream, without "data: ". Chats begin each choice with a chunk that names the role.
std::string role_chunk(const AnswerHead& head, int index);
std::string delta_chunk(const AnswerHead& head, int index, const AnswerDelta& delta, Json logprobs);
std::string end_chunk(const AnswerHead& head, int index, const GenerationEnd& end,
                      const std::string& finish_reason);
std::string usage_chunk(const AnswerHead& head, const Usage& usage);

// One server-sent event.
std::string event(std::string_view data);

}  // namespace dure
