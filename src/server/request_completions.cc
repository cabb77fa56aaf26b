// The bodies of /v1/completions, /tokenize and /detokenize.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "server/request_fields.h"

namespace dure {
namespace {

constexpr int32_t completion_default_max_tokens = 16;  // as OpenAI's
constexpr size_t max_prompts = 1024;                   // of one request

Json prompts_schema(int32_t vocab) {
  const Json text = {{"type", "string"}};
  Json ids = token_ids_schema(vocab);
  const Json lists = {{"type", "array"},
                      {"minItems", 1},
                      {"maxItems", max_prompts},
                      {"items", {{"anyOf", Json::array({text, ids})}}}};
  ids["minItems"] = 1;
  return {{"anyOf", Json::array({text, ids, lists})}};
}

// A string, a list of strings, a list of ids, or a list of lists of ids.
std::vector<Prompt> read_prompts(Fields& fields, int32_t vocab) {
  const Json* prompt = fields.find("prompt", prompts_schema(vocab));
  fields.require("prompt");
  if (prompt == nullptr) return {};  // only described
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

// With echo the prompt's tokens are told like the answer's.
void read_logprobs(Fields& fields, CompletionCall& call) {
  SamplingParams& sampling = call.generation.sampling;
  sampling.logprobs =
      static_cast<int32_t>(fields.integer("logprobs", 0, most_logprobs).value_or(-1));
  call.echo = fields.boolean("echo").value_or(false);
  if (!call.echo || sampling.logprobs < 0) return;
  if (call.generation.stream) {
    fields.fail("echo", "with logprobs cannot be used when stream is true");
  }
  sampling.prompt_logprobs = std::max(sampling.prompt_logprobs, sampling.logprobs);
}

CompletionCall read_completion_call(Fields& fields, const ServedModel& model) {
  CompletionCall call;
  call.generation = read_generation(fields, model, 0);
  call.prompt_only = call.generation.max_tokens == 0;
  if (call.prompt_only) call.generation.max_tokens = 1;  // the engine knows no less
  read_logprobs(fields, call);
  call.generation.default_max_tokens = completion_default_max_tokens;
  call.prompts = read_prompts(fields, model.vocab);
  if (call.prompts.size() * static_cast<size_t>(call.generation.choices) > max_prompts) {
    fields.fail("n",
                fmt::format("times the prompts may be {}, not {}", max_prompts,
                            call.prompts.size() * static_cast<size_t>(call.generation.choices)));
  }
  call.add_special = fields.boolean("add_special_tokens").value_or(true);
  fields.unsupported("suffix", {""});
  fields.unsupported("prompt_embeds");
  fields.refuse_unknown();
  return call;
}

TokenizeCall read_tokenize_call(Fields& fields, const ServedModel& model) {
  read_model(fields, model);
  TokenizeCall call;
  const std::optional<std::string> prompt = fields.text("prompt");
  Conversation conversation = read_conversation(fields);
  if (prompt && conversation.messages) fields.fail("messages", "and prompt cannot both be given");
  if (!prompt && !conversation.messages && !fields.describes()) {
    fields.fail("prompt", "or messages must be given");
  }
  call.add_special = fields.boolean("add_special_tokens").value_or(true);
  if (prompt) {
    call.input = *prompt;
  } else {
    call.input = std::move(conversation);
  }
  fields.unsupported("return_token_strs");
  fields.unsupported("tools");
  fields.refuse_unknown();
  return call;
}

std::vector<int32_t> read_detokenize_call(Fields& fields, const ServedModel& model) {
  read_model(fields, model);
  std::vector<int32_t> tokens = fields.tokens("tokens", model.vocab);
  fields.require("tokens");
  fields.refuse_unknown();
  return tokens;
}

template <class Read>
auto parse_with(const Read& read, std::string_view body, const ServedModel& model) {
  const Json json = parse_json(body, "request body");
  Fields fields(json, "");
  return read(fields, model);
}

template <class Read>
Json describe_with(const Read& read, const ServedModel& model) {
  return describe_fields([&](Fields& fields) { read(fields, model); });
}

}  // namespace

CompletionCall parse_completion_call(std::string_view body, const ServedModel& model) {
  return parse_with(read_completion_call, body, model);
}

TokenizeCall parse_tokenize_call(std::string_view body, const ServedModel& model) {
  return parse_with(read_tokenize_call, body, model);
}

std::vector<int32_t> parse_detokenize_call(std::string_view body, const ServedModel& model) {
  return parse_with(read_detokenize_call, body, model);
}

Json describe_completion_call(const ServedModel& model) {
  return describe_with(read_completion_call, model);
}

Json describe_tokenize_call(const ServedModel& model) {
  return describe_with(read_tokenize_call, model);
}

Json describe_detokenize_call(const ServedModel& model) {
  return describe_with(read_detokenize_call, model);
}

}  // namespace dure
