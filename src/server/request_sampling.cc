// The fields that say how tokens are drawn.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "server/request_fields.h"

namespace dure {
namespace {

uint64_t random_seed() {
  thread_local std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

// Above 0 as a double may be 0 as a float.
float float_above_zero(double number) {
  return std::max(static_cast<float>(number), std::numeric_limits<float>::min());
}

constexpr double most_bias = 100.0;  // as OpenAI

Json bias_schema() {
  return {{"type", "object"},
          {"propertyNames", {{"pattern", "^[0-9]+$"}}},
          {"additionalProperties",
           {{"type", "number"}, {"minimum", -most_bias}, {"maximum", most_bias}}}};
}

// Token ids, as names of an object, to what is added to their logits.
std::vector<LogitBias> read_bias(Fields& fields, int32_t vocab) {
  const Json* given = fields.find("logit_bias", bias_schema());
  if (given == nullptr) return {};
  if (!given->is_object()) fields.fail("logit_bias", "must be an object, not " + quoted(*given));
  std::vector<LogitBias> biases;
  for (const auto& [name, value] : given->items()) {
    int32_t token = -1;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), token);
    if (error != std::errc() || end != name.data() + name.size() || token < 0 || token >= vocab) {
      fields.fail("logit_bias", fmt::format("must name token ids from 0 to {}, not {}", vocab - 1,
                                            quoted(Json(name))));
    }
    const double bias = value.is_number() ? value.get<double>() : std::nan("");
    if (!(bias >= -most_bias && bias <= most_bias)) {
      fields.fail("logit_bias", fmt::format("must hold numbers from {} to {}, not {}", -most_bias,
                                            most_bias, quoted(value)));
    }
    biases.push_back({token, static_cast<float>(bias)});
  }
  // "7" and "07" are the same token.
  std::sort(biases.begin(), biases.end(),
            [](const LogitBias& a, const LogitBias& b) { return a.token < b.token; });
  const auto twice =
      std::adjacent_find(biases.begin(), biases.end(),
                         [](const LogitBias& a, const LogitBias& b) { return a.token == b.token; });
  if (twice != biases.end()) {
    fields.fail("logit_bias", fmt::format("names token {} twice", twice->token));
  }
  return biases;
}

std::vector<int32_t> read_allowed(Fields& fields, int32_t vocab) {
  Json schema = token_ids_schema(vocab);
  schema["minItems"] = 1;
  const Json* list = fields.find("allowed_token_ids", schema);
  if (list == nullptr) return {};
  std::vector<int32_t> ids = token_ids(*list, "allowed_token_ids", vocab);
  if (ids.empty()) fields.fail("allowed_token_ids", "must allow a token");
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace

SamplingParams read_sampling(Fields& fields, const ServedModel& model) {
  const SamplingDefaults& defaults = model.defaults;
  SamplingParams sampling;
  sampling.temperature =
      static_cast<float>(fields.number("temperature", 0.0, 100.0).value_or(defaults.temperature));
  sampling.top_p =
      float_above_zero(fields.number_above("top_p", 0.0, 1.0).value_or(defaults.top_p));
  sampling.min_p = static_cast<float>(fields.number("min_p", 0.0, 1.0).value_or(defaults.min_p));
  const int64_t top_k = fields.integer("top_k", -1, INT32_MAX).value_or(defaults.top_k);
  sampling.top_k = static_cast<int32_t>(std::max<int64_t>(0, top_k));
  const std::optional<int64_t> seed = fields.integer("seed", INT64_MIN, INT64_MAX);
  sampling.seed = seed ? static_cast<uint64_t>(*seed) : random_seed();
  sampling.presence_penalty =
      static_cast<float>(fields.number("presence_penalty", -2.0, 2.0).value_or(0.0));
  sampling.frequency_penalty =
      static_cast<float>(fields.number("frequency_penalty", -2.0, 2.0).value_or(0.0));
  sampling.repetition_penalty =
      float_above_zero(fields.number_above("repetition_penalty", 0.0, 100.0).value_or(1.0));
  sampling.logit_bias = read_bias(fields, model.vocab);
  sampling.allowed_ids = read_allowed(fields, model.vocab);
  sampling.min_tokens =
      static_cast<int32_t>(fields.integer("min_tokens", 0, INT32_MAX).value_or(0));
  return sampling;
}

}  // namespace dure
