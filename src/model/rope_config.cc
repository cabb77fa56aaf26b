// See rope_config.h.
#include "model/rope_config.h"

#include <fmt/format.h>

#include <cmath>

namespace dure {
namespace {

constexpr double most_theta = 1e15;
constexpr double most_factor = 1e6;
constexpr IntRange context_range{1, int64_t{1} << 30};

std::string kind_of(ConfigReader& rope) {
  const std::string newer = rope.text_or("rope_type", "");
  const std::string older = rope.text_or("type", "");
  if (!newer.empty() && !older.empty() && newer != older) {
    rope.fail("type", fmt::format("\"{:.60}\" contradicts rope_type \"{:.60}\"", older, newer));
  }
  const std::string kind = newer.empty() ? older : newer;
  return kind.empty() ? "default" : kind;
}

// How much longer wavelengths sharpen attention: 0.1 m ln(s) + 1 (YaRN, equation 22).
double yarn_mscale(double factor, double m) {
  return factor <= 1.0 ? 1.0 : 0.1 * m * std::log(factor) + 1.0;
}

void read_llama3(ConfigReader& scaling, RopeSpec& rope) {
  rope.kind = RopeKind::llama3;
  rope.factor = scaling.number("factor", 1.0, most_factor);
  rope.low_freq_factor = scaling.number("low_freq_factor", 1e-6, most_factor);
  rope.high_freq_factor = scaling.number("high_freq_factor", 1e-6, most_factor);
  if (rope.high_freq_factor <= rope.low_freq_factor) {
    scaling.fail("high_freq_factor", "must be larger than low_freq_factor");
  }
  rope.original_context = scaling.integer("original_max_position_embeddings", context_range);
}

void read_yarn(ConfigReader& scaling, int64_t context, RopeSpec& rope) {
  rope.kind = RopeKind::yarn;
  rope.original_context =
      scaling.integer_or("original_max_position_embeddings", context, context_range);
  // Where no factor is stated it is how far the context was stretched.
  const double stretched =
      static_cast<double>(context) / static_cast<double>(rope.original_context);
  rope.factor = scaling.number_or("factor", std::max(stretched, 1.0), 1.0, most_factor);
  rope.beta_fast = scaling.number_or("beta_fast", 32.0, 1e-6, most_factor);
  rope.beta_slow = scaling.number_or("beta_slow", 1.0, 1e-6, most_factor);
  if (rope.beta_fast <= rope.beta_slow) {
    scaling.fail("beta_fast", "must be larger than beta_slow");
  }
  rope.truncate = scaling.boolean_or("truncate", true);
  const double mscale = scaling.number_or("mscale", 0.0, 0.0, 100.0);
  const double mscale_all_dim = scaling.number_or("mscale_all_dim", 0.0, 0.0, 100.0);
  const double otherwise =
      mscale > 0 && mscale_all_dim > 0
          ? yarn_mscale(rope.factor, mscale) / yarn_mscale(rope.factor, mscale_all_dim)
          : yarn_mscale(rope.factor, 1.0);
  rope.attention_factor = scaling.number_or("attention_factor", otherwise, 1e-6, most_factor);
  scaling.ignore("finetuned");
}

void read_scaling(ConfigReader& scaling, int64_t context, RopeSpec& rope) {
  const std::string kind = kind_of(scaling);
  if (kind == "default") {
    rope.kind = RopeKind::plain;
  } else if (kind == "linear") {
    rope.kind = RopeKind::linear;
    rope.factor = scaling.number("factor", 1.0, most_factor);
  } else if (kind == "llama3") {
    read_llama3(scaling, rope);
  } else if (kind == "yarn") {
    read_yarn(scaling, context, rope);
  } else {
    scaling.fail("rope_type", fmt::format("\"{:.60}\" is not supported", kind),
                 "supported: default, linear, llama3, yarn");
  }
}

}  // namespace

RopeSpec read_rope(ConfigReader& config, int64_t head_dim, int64_t context, double default_theta) {
  RopeSpec rope;
  rope.dims = head_dim;
  const double outer_theta = config.number_or("rope_theta", default_theta, 1.0, most_theta);
  rope.theta = outer_theta;
  if (config.number_or("partial_rotary_factor", 1.0, 0.0, 1.0) != 1.0) {
    config.fail("partial_rotary_factor", "this family rotates whole heads");
  }
  if (config.has("rope_scaling") && config.has("rope_parameters")) {
    config.fail("rope_scaling", "stated beside rope_parameters", "keep one of the two");
  }
  const char* key = config.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  std::optional<ConfigReader> scaling = config.object(key);
  if (!scaling) return rope;
  rope.theta = scaling->number_or("rope_theta", outer_theta, 1.0, most_theta);
  if (config.has("rope_theta") && rope.theta != outer_theta) {
    scaling->fail("rope_theta",
                  fmt::format("{} contradicts rope_theta {} outside", rope.theta, outer_theta));
  }
  if (scaling->number_or("partial_rotary_factor", 1.0, 0.0, 1.0) != 1.0) {
    scaling->fail("partial_rotary_factor", "this family rotates whole heads");
  }
  read_scaling(*scaling, context, rope);
  scaling->finish();
  return rope;
}

}  // namespace dure
