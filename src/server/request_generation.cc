// Limits, stops and the form of the answer of a generation request.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "server/request_fields.h"

namespace dure {
namespace {

constexpr size_t max_stops = 16;
constexpr size_t max_stop_characters = 1024;
constexpr size_t max_bad_words = 1024;
constexpr int64_t max_choices = 128;
constexpr size_t max_name_characters = 1024;
constexpr int64_t most_urgent = 1'000'000;  // of priority, either way

void read_stops(Fields& fields, const ServedModel& model, GenerationFields& made) {
  made.stop = fields.texts("stop", max_stops, max_stop_characters);
  made.stop_ids = fields.tokens("stop_token_ids", model.vocab);
  std::sort(made.stop_ids.begin(), made.stop_ids.end());
  made.stop_ids.erase(std::unique(made.stop_ids.begin(), made.stop_ids.end()), made.stop_ids.end());
  if (!fields.boolean("ignore_eos").value_or(false)) {
    made.end_ids = model.eos_ids;
  }
  made.show_stop_string = fields.boolean("include_stop_str_in_output").value_or(false);
}

// Texts that must not be produced. They become tokens where the tokenizer is (prompting.cc).
void read_bad_words(Fields& fields, GenerationFields& made) {
  made.bad_words = fields.texts("bad_words", max_bad_words, max_stop_characters);
}

void read_choices(Fields& fields, GenerationFields& made) {
  const std::optional<int64_t> n = fields.integer("n", 1, max_choices);
  made.choices = static_cast<int32_t>(n.value_or(1));
  // Nothing is left out of an answer, so the best of more than n cannot be chosen.
  const std::optional<int64_t> best_of = fields.integer("best_of", 1, max_choices);
  if (best_of && *best_of != made.choices) {
    fields.fail("best_of", fmt::format("must be n ({}) or left out", made.choices));
  }
}

void read_prompt_logprobs(Fields& fields, GenerationFields& made) {
  const auto count = fields.integer("prompt_logprobs", 0, most_logprobs);
  if (count && made.stream) {
    fields.fail("prompt_logprobs", "cannot be used when stream is true");
  }
  made.prompt_logprobs = static_cast<int32_t>(count.value_or(-1));
  made.sampling.prompt_logprobs = made.prompt_logprobs;
}

void refuse_what_is_not_done(Fields& fields) {
  fields.unsupported("length_penalty", {1});
  for (const char* name :
       {"use_beam_search", "return_token_ids", "return_tokens_as_token_ids",
        "truncate_prompt_tokens", "kv_transfer_params", "vllm_xargs", "logits_processors"}) {
    fields.unsupported(name);
  }
  fields.unsupported("spaces_between_special_tokens", {true});
  fields.unsupported("detokenize", {true});
}

void read_stream(Fields& fields, GenerationFields& made) {
  made.stream = fields.boolean("stream").value_or(false);
  if (!made.stream && fields.has("stream_options")) {
    fields.fail("stream_options", "is only allowed when stream is true");
  }
  fields.object("stream_options", [&](Fields& options) {
    made.include_usage = options.boolean("include_usage").value_or(false);
    options.ignore({"include_obfuscation"});
    options.unsupported("continuous_usage_stats");
    options.refuse_unknown();
  });
}

}  // namespace

std::string read_model(Fields& fields, const ServedModel& model) {
  const std::optional<std::string> name = fields.text("model");
  if (!name) return model.names.front();
  if (!model.answers_to(*name)) {
    throw RequestError(404, "model_not_found",
                       fmt::format("the model {} does not exist here", quoted(Json(*name))),
                       fmt::format("this server has {}", model.names.front()), "model");
  }
  return *name;
}

GenerationFields read_generation(Fields& fields, const ServedModel& model, int32_t least_tokens) {
  GenerationFields made;
  made.model = read_model(fields, model);
  const std::optional<int64_t> newer =
      fields.integer("max_completion_tokens", least_tokens, INT32_MAX);
  const std::optional<int64_t> older = fields.integer("max_tokens", least_tokens, INT32_MAX);
  // max_completion_tokens is the newer name and wins.
  if (const std::optional<int64_t> most = newer ? newer : older) {
    made.max_tokens = static_cast<int32_t>(*most);
  }
  made.sampling = read_sampling(fields, model);
  read_stops(fields, model, made);
  read_stream(fields, made);
  read_bad_words(fields, made);
  read_choices(fields, made);
  read_prompt_logprobs(fields, made);
  made.grammar = read_grammar(fields);
  made.priority =
      static_cast<int32_t>(fields.integer("priority", -most_urgent, most_urgent).value_or(0));
  // Both are remembered after the request, for as long as its pages and its debt are.
  made.cache_salt = fields.text("cache_salt", max_name_characters).value_or("");
  made.user = fields.text("user", max_name_characters).value_or("");
  made.skip_special = fields.boolean("skip_special_tokens").value_or(true);
  refuse_what_is_not_done(fields);
  fields.ignore({"metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key",
                 "request_id", "verbosity"});
  return made;
}

}  // namespace dure
