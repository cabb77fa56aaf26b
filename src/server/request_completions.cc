// The bodies of /v1/completions, /tokenize and /detokenize.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "server/request_fields.h"

namespace dure {
namespace {

constexpr int32_t completion_default_max_tokens = 16;  // as OpenAI's
constexpr size_t max_prompts = 1024;                   // of one request

// A string, a list of strings, a list of ids, or a list of lists of ids.
std::vector<Prompt> read_prompts(Fields& fields, int32_t vocab) {
  const Json* prompt = fields.find("prompt");
  if (prompt == nullptr) fields.fail("prompt", "is missing");
  if (prompt->is_string()) return {prompt->get<std::string>()};
  if (!prompt->is_array() || prompt->empty()) {
    fields.fail("prompt", "must be a string, a list of strings, or token ids");
  }
  if (prompt->front().is_number()) return {token_ids(*prompt, "prompt", vocab)};
  if (prompt->size() > max_prompts) {
    fields.fail("prompt", fmt::format("may be a list of {}, not {}", max_prompts, prompt->size()));
  }
  std::vector<Prompt> prompts;
  for (size_t i = 0; i < prompt->size(); ++i) {
    const Json& entry = (*prompt)[i];
    if (entry.is_string()) {
      prompts.emplace_back(entry.get<std::string>());
    } else {
      prompts.emplace_back(token_ids(entry, fmt::format("prompt[{}]", i), vocab));
    }
  }
  return prompts;
}

}  // namespace

CompletionCall parse_completion_call(std::string_view body, const ServedModel& model) {
  const Json json = parse_json(body, "request body");
  Fields fields(json, "");
  CompletionCall call;
  call.generation = read_generation(fields, model);
  // Chats say logprobs: true. Here 0 asks for something, too: the logprob of each token itself.
  const Json* logprobs = fields.find("logprobs");
  if (logprobs != nullptr && logprobs->is_number()) {
    fields.fail("logprobs", "is not supported by this server");
  }
  call.generation.default_max_tokens = completion_default_max_tokens;
  call.prompts = read_prompts(fields, model.vocab);
  call.add_special = fields.boolean("add_special_tokens").value_or(true);
  fields.unsupported("echo");
  fields.unsupported("suffix", {""});
  fields.unsupported("prompt_embeds");
  fields.refuse_unknown();
  return call;
}

TokenizeCall parse_tokenize_call(std::string_view body, const ServedModel& model) {
  const Json json = parse_json(body, "request body");
  Fields fields(json, "");
  read_model(fields, model);
  TokenizeCall call;
  if (fields.find("prompt") != nullptr && fields.find("messages") != nullptr) {
    fields.fail("messages", "and prompt cannot both be given");
  }
  if (const std::optional<std::string> prompt = fields.text("prompt")) {
    call.input = *prompt;
    call.add_special = fields.boolean("add_special_tokens").value_or(true);
  } else if (fields.find("messages") != nullptr) {
    call.input = read_conversation(fields);
  } else {
    fields.fail("prompt", "or messages must be given");
  }
  fields.unsupported("return_token_strs");
  fields.unsupported("tools");
  fields.refuse_unknown();
  return call;
}

std::vector<int32_t> parse_detokenize_call(std::string_view body, const ServedModel& model) {
  const Json json = parse_json(body, "request body");
  Fields fields(json, "");
  read_model(fields, model);
  if (fields.find("tokens") == nullptr) fields.fail("tokens", "is missing");
  std::vector<int32_t> tokens = fields.tokens("tokens", model.vocab);
  fields.refuse_unknown();
  return tokens;
}

}  // namespace dure
