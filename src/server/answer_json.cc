// See answer_json.h. Shapes: https://platform.openai.com/docs/api-reference/chat/object and
// https://platform.openai.com/docs/api-reference/chat/streaming; stop_reason and prompt_logprobs
// are vLLM's.
#include "server/answer_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "server/logprobs_json.h"

namespace dure {
namespace {

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Which stop of the request's own ended it.
Json stop_reason(const GenerationEnd& end) {
  if (end.stop_id) return *end.stop_id;
  return end.stop_string.empty() ? Json(nullptr) : Json(end.stop_string);
}

Json usage_json(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}}};
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

Json choice_of(const AnswerHead& head, int index, Json delta, std::string_view text,
               Json logprobs) {
  Json choice = {{"index", index}};
  if (head.chat) {
    choice["delta"] = std::move(delta);
  } else {
    choice["text"] = text;
  }
  choice["logprobs"] = std::move(logprobs);
  choice["finish_reason"] = nullptr;
  return choice;
}

Json logprobs_of(const AnswerHead& head, const Choice& choice) {
  if (head.logprobs < 0) return nullptr;
  if (head.chat) return chat_logprobs(choice.tokens, head.logprobs, *head.texts);
  CompletionLogprobs lists(head.logprobs, *head.texts);
  if (choice.plan.first_token >= 0) {
    lists.add_first(choice.plan.first_token);
    lists.add(choice.prompt);
  }
  if (!choice.plan.without_answer) lists.add(choice.tokens);
  return lists.take();
}

// A call is named once, then its arguments come in pieces.
Json delta_json(const AnswerDelta& delta) {
  switch (delta.kind) {
    case AnswerDelta::Kind::reasoning:
      return {{"reasoning_content", delta.text}};
    case AnswerDelta::Kind::content:
      return {{"content", delta.text}};
    case AnswerDelta::Kind::call:
      return {{"tool_calls",
               Json::array({Json{{"index", delta.index},
                                 {"id", delta.id},
                                 {"type", "function"},
                                 {"function", {{"name", delta.name}, {"arguments", ""}}}}})}};
    case AnswerDelta::Kind::arguments:
      return {{"tool_calls", Json::array({Json{{"index", delta.index},
                                               {"function", {{"arguments", delta.text}}}}})}};
    case AnswerDelta::Kind::call_end:
      return Json::object();
  }
  check_failed("every delta has a form", __FILE__, __LINE__);
}

Json message_of(const Choice& from) {
  const bool only_calls = from.text.empty() && !from.calls.empty();
  Json message = {{"role", "assistant"},
                  {"content", only_calls ? Json(nullptr) : Json(from.text)},
                  {"refusal", nullptr}};
  if (!from.reasoning.empty()) message["reasoning_content"] = from.reasoning;
  for (const ToldCall& call : from.calls) {
    message["tool_calls"].push_back(
        {{"id", call.id},
         {"type", "function"},
         {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  }
  return message;
}

Json whole_choice(const AnswerHead& head, size_t index, const Choice& from) {
  Json choice = {{"index", index}};
  if (head.chat) {
    choice["message"] = message_of(from);
  } else {
    choice["text"] = from.plan.echo + from.text;
  }
  choice["logprobs"] = logprobs_of(head, from);
  choice["finish_reason"] = from.finish_reason;
  choice["stop_reason"] = stop_reason(from.end);
  return choice;
}

}  // namespace

std::string answer_id(bool chat, const std::string& request_id) {
  return (chat ? "chatcmpl-" : "cmpl-") + request_id;
}

void add_usage(Usage& usage, const ChoicePlan& plan, const GenerationEnd& end) {
  if (plan.counts_prompt) {
    usage.prompt_tokens += end.prompt_tokens;
    usage.cached_tokens += end.reused_tokens;
  }
  if (!plan.without_answer) usage.completion_tokens += end.completion_tokens;
}

std::string whole_answer(const AnswerHead& head, const std::vector<Choice>& choices) {
  Json list = Json::array();
  Usage usage;
  for (size_t i = 0; i < choices.size(); ++i) {
    list.push_back(whole_choice(head, i, choices[i]));
    if (head.prompt_logprobs >= 0 && !head.chat) {
      list.back()["prompt_logprobs"] =
          prompt_logprobs_json(choices[i].prompt, head.prompt_logprobs, *head.texts);
    }
    add_usage(usage, choices[i].plan, choices[i].end);
  }
  Json json = envelope(head, head.chat ? "chat.completion" : "text_completion");
  json["choices"] = std::move(list);
  json["usage"] = usage_json(usage);
  if (head.prompt_logprobs >= 0 && head.chat) {
    json["prompt_logprobs"] =
        prompt_logprobs_json(choices.front().prompt, head.prompt_logprobs, *head.texts);
  }
  return dump(json);
}

std::string role_chunk(const AnswerHead& head, int index) {
  return chunk_of(
      head,
      Json::array({choice_of(head, index, {{"role", "assistant"}, {"content", ""}}, "", nullptr)}),
      nullptr);
}

std::string delta_chunk(const AnswerHead& head, int index, const AnswerDelta& delta,
                        Json logprobs) {
  Json told = head.chat ? delta_json(delta) : Json();
  return chunk_of(
      head, Json::array({choice_of(head, index, std::move(told), delta.text, std::move(logprobs))}),
      nullptr);
}

std::string end_chunk(const AnswerHead& head, int index, const GenerationEnd& end,
                      const std::string& finish_reason) {
  Json choice = choice_of(head, index, Json::object(), "", nullptr);
  choice["finish_reason"] = finish_reason;
  choice["stop_reason"] = stop_reason(end);
  return chunk_of(head, Json::array({std::move(choice)}), nullptr);
}

std::string usage_chunk(const AnswerHead& head, const Usage& usage) {
  return chunk_of(head, Json::array(), usage_json(usage));
}

std::string event(std::string_view data) {
  return fmt::format("data: {}\n\n", data);
}

}  // namespace dure
