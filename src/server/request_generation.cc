// Sampling, limits and stops of a generation request.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "server/request_fields.h"

namespace dure {
namespace {

constexpr size_t max_stops = 16;
constexpr size_t max_stop_characters = 1024;

uint64_t random_seed() {
  thread_local std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

SamplingParams read_sampling(Fields& fields, const SamplingDefaults& defaults) {
  SamplingParams sampling;
  sampling.temperature =
      static_cast<float>(fields.number("temperature", 0.0, 100.0).value_or(defaults.temperature));
  // Above 0 as a double may be 0 as a float, which is no top_p.
  sampling.top_p =
      std::max(static_cast<float>(fields.number_above("top_p", 0.0, 1.0).value_or(defaults.top_p)),
               std::numeric_limits<float>::min());
  sampling.min_p = static_cast<float>(fields.number("min_p", 0.0, 1.0).value_or(defaults.min_p));
  const int64_t top_k = fields.integer("top_k", -1, INT32_MAX).value_or(defaults.top_k);
  sampling.top_k = static_cast<int32_t>(std::max<int64_t>(0, top_k));
  const std::optional<int64_t> seed = fields.integer("seed", INT64_MIN, INT64_MAX);
  sampling.seed = seed ? static_cast<uint64_t>(*seed) : random_seed();
  return sampling;
}

void read_stops(Fields& fields, const ServedModel& model, GenerationFields& made) {
  made.stop = fields.texts("stop", max_stops, max_stop_characters);
  made.stop_ids = fields.tokens("stop_token_ids", model.vocab);
  if (!fields.boolean("ignore_eos").value_or(false)) {
    made.end_ids = model.eos_ids;
  }
  made.show_stop_string = fields.boolean("include_stop_str_in_output").value_or(false);
}

void refuse_what_is_not_done(Fields& fields) {
  fields.unsupported("presence_penalty");
  fields.unsupported("frequency_penalty");
  fields.unsupported("repetition_penalty", {1});
  fields.unsupported("length_penalty", {1});
  fields.integer("n", 1, 1);
  fields.unsupported("best_of", {1});
  for (const char* name :
       {"logit_bias", "logprobs", "prompt_logprobs", "min_tokens", "use_beam_search",
        "allowed_token_ids", "bad_words", "guided_json", "guided_regex", "guided_choice",
        "guided_grammar", "structured_outputs", "return_token_ids", "return_tokens_as_token_ids",
        "truncate_prompt_tokens", "priority", "kv_transfer_params", "vllm_xargs",
        "logits_processors"}) {
    fields.unsupported(name);
  }
  fields.unsupported("spaces_between_special_tokens", {true});
  fields.unsupported("detokenize", {true});
  fields.unsupported("response_format", {Json{{"type", "text"}}});
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

GenerationFields read_generation(Fields& fields, const ServedModel& model) {
  GenerationFields made;
  made.model = read_model(fields, model);
  const std::optional<int64_t> newer = fields.integer("max_completion_tokens", 1, INT32_MAX);
  const std::optional<int64_t> older = fields.integer("max_tokens", 1, INT32_MAX);
  // max_completion_tokens is the newer name and wins.
  if (const std::optional<int64_t> most = newer ? newer : older) {
    made.max_tokens = static_cast<int32_t>(*most);
  }
  made.sampling = read_sampling(fields, model.defaults);
  read_stops(fields, model, made);
  read_stream(fields, made);
  made.skip_special = fields.boolean("skip_special_tokens").value_or(true);
  refuse_what_is_not_done(fields);
  fields.ignore({"user", "metadata", "store", "service_tier", "safety_identifier",
                 "prompt_cache_key", "request_id", "verbosity"});
  return made;
}

}  // namespace dure
