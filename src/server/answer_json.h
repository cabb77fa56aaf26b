// The JSON of completions and chat completions, whole and in chunks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/generation.h"

namespace dure {

// What all objects of one answer share.
struct AnswerHead {
  std::string id;
  int64_t created = 0;  // Unix seconds
  std::string model;
  bool chat = true;            // else a plain completion
  bool include_usage = false;  // stream_options.include_usage
};

struct Usage {
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
};

struct Choice {
  std::string text;
  GenerationEnd end;
};

// "chatcmpl-" or "cmpl-" and the request's id.
std::string answer_id(bool chat, const std::string& request_id);

std::string whole_answer(const AnswerHead& head, const std::vector<Choice>& choices);

// Chunks of a stream, without "data: ". Chats begin each choice with a chunk that names the role.
std::string role_chunk(const AnswerHead& head, int index);
std::string text_chunk(const AnswerHead& head, int index, std::string_view text);
std::string end_chunk(const AnswerHead& head, int index, const GenerationEnd& end);
std::string usage_chunk(const AnswerHead& head, const Usage& usage);

// One server-sent event.
std::string event(std::string_view data);

}  // namespace dure
