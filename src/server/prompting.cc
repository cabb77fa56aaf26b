// See prompting.h.
#include "server/prompting.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace dure {
namespace {

[[noreturn]] void too_long(const std::string& what, const std::string& hint,
                           const std::string& field) {
  throw RequestError(400, "context_length_exceeded", what, hint, field);
}

}  // namespace

std::string render(const Conversation& conversation, const ServedModel& model) {
  if (!model.chat_template) {
    throw_bad_input("this model has no chat template", "use /v1/completions", "messages");
  }
  ChatRequest request;
  request.messages = conversation.messages.get();
  request.add_generation_prompt = conversation.add_generation_prompt;
  request.continue_final_message = conversation.continue_final_message;
  request.extra = conversation.template_arguments.get();
  try {
    return model.chat_template->render(request);
  } catch (const Error& error) {
    throw Error(error.code(), error.message(), error.hint(), "messages");
  }
}

std::vector<int32_t> encode(const Conversation& conversation, const ServedModel& model) {
  const std::string text = render(conversation, model);
  return model.tokenizer->encode(text, {.add_special = conversation.add_special});
}

std::vector<int32_t> encode(const Prompt& prompt, bool add_special, const ServedModel& model) {
  if (const auto* ids = std::get_if<std::vector<int32_t>>(&prompt)) return *ids;
  return model.tokenizer->encode(std::get<std::string>(prompt), {.add_special = add_special});
}

Generation make_generation(const GenerationFields& fields, std::vector<int32_t> prompt,
                           const std::string& field, const ServedModel& model) {
  const auto tokens = static_cast<int64_t>(prompt.size());
  if (tokens == 0) throw_bad_input(field + " has no tokens", "", field);
  for (const int32_t id : prompt) {
    if (id < 0 || id >= model.vocab) {
      throw_bad_input(fmt::format("{} becomes token {}, which the model's vocabulary of {} lacks",
                                  field, id, model.vocab),
                      "", field);
    }
  }
  // One position at least must be left for the answer.
  const int64_t context = std::min<int64_t>(model.context, model.longest_sequence);
  const bool by_cache = model.longest_sequence < model.context;
  const std::string limit =
      by_cache ? fmt::format("the KV cache holds {} tokens of one request", context)
               : fmt::format("the context is {} tokens", context);
  const std::string hint = by_cache ? "start the server with more --kv-memory" : "";
  if (tokens >= context) {
    too_long(fmt::format("{} has {} tokens, but {}", field, tokens, limit), hint, field);
  }
  const int64_t room = context - tokens;
  if (fields.max_tokens && *fields.max_tokens > room) {
    too_long(fmt::format("{} has {} tokens and max_tokens asks for {} more, {} in all, but {}",
                         field, tokens, *fields.max_tokens, tokens + *fields.max_tokens, limit),
             hint, "max_tokens");
  }
  Generation made;
  made.prompt = std::move(prompt);
  // A length that nobody asked for is cut to what there is room for.
  made.max_tokens = fields.max_tokens.value_or(
      static_cast<int32_t>(std::min<int64_t>(room, fields.default_max_tokens)));
  made.sampling = fields.sampling;
  made.stop_ids = fields.stop_ids;
  made.end_ids = fields.end_ids;
  made.stop_strings = fields.stop;
  made.skip_special = fields.skip_special;
  made.show_stop_string = fields.show_stop_string;
  return made;
}

}  // namespace dure
