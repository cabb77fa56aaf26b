// See answer_json.h. Shapes: https://platform.openai.com/docs/api-reference/chat/object and
// https://platform.openai.com/docs/api-reference/chat/streaming.
#include "server/answer_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace dure {
namespace {

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json finish_reason(const GenerationEnd& end) {
  return end.stopped ? "stop" : "length";
}

Json usage_json(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens}};
}

Json envelope(const AnswerHead& head, const char* object) {
  return {{"id", head.id}, {"object", object}, {"created", head.created}, {"model", head.model}};
}

std::string chunk_of(const AnswerHead& head, Json choices, Json usage) {
  Json json = envelope(head, head.chat ? "chat.completion.chunk" : "text_completion");
  json["choices"] = std::move(choices);
  // With include_usage every chunk has the key; without it none.
  if (head.include_usage) json["usage"] = std::move(usage);
  return dump(json);
}

Json choice_of(const AnswerHead& head, int index, Json delta, std::string_view text, Json reason) {
  Json choice = {{"index", index}};
  if (head.chat) {
    choice["delta"] = std::move(delta);
  } else {
    choice["text"] = text;
  }
  choice["logprobs"] = nullptr;
  choice["finish_reason"] = std::move(reason);
  return Json::array({std::move(choice)});
}

}  // namespace

std::string answer_id(bool chat, const std::string& request_id) {
  return (chat ? "chatcmpl-" : "cmpl-") + request_id;
}

std::string whole_answer(const AnswerHead& head, const std::vector<Choice>& choices) {
  Json list = Json::array();
  Usage usage;
  for (size_t i = 0; i < choices.size(); ++i) {
    const Choice& from = choices[i];
    Json choice = {{"index", i}};
    if (head.chat) {
      choice["message"] = {{"role", "assistant"}, {"content", from.text}, {"refusal", nullptr}};
    } else {
      choice["text"] = from.text;
    }
    choice["logprobs"] = nullptr;
    choice["finish_reason"] = finish_reason(from.end);
    list.push_back(std::move(choice));
    usage.prompt_tokens += from.end.prompt_tokens;
    usage.completion_tokens += from.end.completion_tokens;
  }
  Json json = envelope(head, head.chat ? "chat.completion" : "text_completion");
  json["choices"] = std::move(list);
  json["usage"] = usage_json(usage);
  return dump(json);
}

std::string role_chunk(const AnswerHead& head, int index) {
  return chunk_of(
      head, choice_of(head, index, {{"role", "assistant"}, {"content", ""}}, "", nullptr), nullptr);
}

std::string text_chunk(const AnswerHead& head, int index, std::string_view text) {
  return chunk_of(head, choice_of(head, index, {{"content", text}}, text, nullptr), nullptr);
}

std::string end_chunk(const AnswerHead& head, int index, const GenerationEnd& end) {
  return chunk_of(head, choice_of(head, index, Json::object(), "", finish_reason(end)), nullptr);
}

std::string usage_chunk(const AnswerHead& head, const Usage& usage) {
  return chunk_of(head, Json::array(), usage_json(usage));
}

std::string event(std::string_view data) {
  return fmt::format("data: {}\n\n", data);
}

}  // namespace dure
