// See answer_event.h. simdjson reads, since a load of thousands of streams parses some hundred
// thousand events per second beside the server that it measures.
#include "load/answer_event.h"

#include <fmt/format.h>
#include <simdjson.h>

#include "base/error.h"

namespace dure::load {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

// One parser per thread keeps its buffers.
simdjson::simdjson_result<element> parse(std::string_view data) {
  thread_local simdjson::dom::parser parser;
  return parser.parse(data.data(), data.size());
}

bool has_string(const object& in, const char* key) {
  std::string_view text;
  return in[key].get(text) == simdjson::SUCCESS && !text.empty();
}

bool has_tool_calls(const object& in) {
  array calls;
  return in["tool_calls"].get(calls) == simdjson::SUCCESS && calls.size() > 0;
}

void take_choice(const element& choice, AnswerEvent& event) {
  object fields;
  if (choice.get(fields) != simdjson::SUCCESS) return;
  event.has_text = event.has_text || has_string(fields, "text");
  object delta;
  if (fields["delta"].get(delta) == simdjson::SUCCESS) {
    event.has_text = event.has_text || has_string(delta, "content") ||
                     has_string(delta, "reasoning_content") || has_string(delta, "reasoning") ||
                     has_tool_calls(delta);
  }
  std::string_view reason;
  if (fields["finish_reason"].get(reason) == simdjson::SUCCESS) event.finish_reason = reason;
}

int64_t count_of(const object& in, const char* key) {
  int64_t count = 0;
  if (in[key].get(count) != simdjson::SUCCESS || count < 0) return 0;
  return count;
}

std::optional<AnswerUsage> usage_of(const object& event) {
  object from;
  if (event["usage"].get(from) != simdjson::SUCCESS) return std::nullopt;
  AnswerUsage usage{count_of(from, "prompt_tokens"), count_of(from, "completion_tokens"), 0};
  object details;
  if (from["prompt_tokens_details"].get(details) == simdjson::SUCCESS) {
    usage.cached_tokens = count_of(details, "cached_tokens");
  }
  return usage;
}

// {"error": {"message": "…"}}, {"error": "…"}, {"object": "error", "message": "…"}.
std::optional<std::string> error_of(const object& event) {
  element error;
  std::string_view text;
  if (event["error"].get(error) == simdjson::SUCCESS && !error.is_null()) {
    object fields;
    if (error.get(text) == simdjson::SUCCESS) return std::string(text);
    if (error.get(fields) == simdjson::SUCCESS &&
        fields["message"].get(text) == simdjson::SUCCESS) {
      return std::string(text);
    }
    return simdjson::minify(error);
  }
  if (event["object"].get(text) == simdjson::SUCCESS && text == "error") {
    return event["message"].get(text) == simdjson::SUCCESS ? std::string(text) : "error";
  }
  return std::nullopt;
}

}  // namespace

AnswerEvent parse_answer_event(std::string_view data) {
  AnswerEvent event;
  while (data.ends_with(' ')) data.remove_suffix(1);
  if (data == "[DONE]") {
    event.done = true;
    return event;
  }
  object fields;
  const auto failure = parse(data).get(fields);
  if (failure != simdjson::SUCCESS) {
    throw_bad_input(fmt::format("an event that is not a JSON object: {:.200}", data));
  }
  event.error = error_of(fields);
  event.usage = usage_of(fields);
  array choices;
  if (fields["choices"].get(choices) == simdjson::SUCCESS) {
    for (const element choice : choices) take_choice(choice, event);
  }
  return event;
}

std::string error_message_of(std::string_view body) {
  object fields;
  if (parse(body).get(fields) == simdjson::SUCCESS) {
    if (std::optional<std::string> message = error_of(fields)) return *message;
    std::string_view text;
    for (const char* key : {"message", "detail"}) {
      if (fields[key].get(text) == simdjson::SUCCESS) return std::string(text);
    }
  }
  return std::string(body.substr(0, 200));
}

}  // namespace dure::load
