// See rope_config.h.
#include "model/rope_config.h"

#include <fmt/format.h>

#include <cmath>

namespace dure {
namespace {

constexpr double most_theta = 1e15;
constexpr double most_factor = 1e6;
constexpr IntRange context_range{1, int64_t{1} << 30};
constexpr size_t most_pairs = 4096;

std::string kind_of(ConfigReader& rope) {
  const std::string newer = rope.optional_text("rope_type");
  const std::string older = rope.optional_text("type");
  if (!newer.empty() && !older.empty() && newer != older) {
    rope.fail("type", fmt::format("\"{:.60}\" contradicts rope_type \"{:.60}\"", older, newer));
  }
  const std::string kind = newer.empty() ? older : newer;
  return kind.empty() ? "default" : kind;
}

// The kinds of rotary settings, each with the keys of its own.
class RopeReader {
 public:
  RopeReader(ConfigReader& object, RopeSpec& rope, int64_t context, const RopeDefaults& defaults)
      : object_(object), rope_(rope), context_(context), defaults_(defaults) {}

  void read(const std::string& kind) {
    // Which axis of an image turns which pairs; with text alone all axes tell the same position.
    object_.ignore({"mrope_section", "mrope_interleaved"});
    if (kind == "default" || kind == "mrope") {
      rope_.kind = RopeKind::plain;
    } else if (kind == "linear") {
      rope_.kind = RopeKind::linear;
      rope_.factor = object_.number("factor", 1.0, most_factor);
    } else if (kind == "llama3") {
      read_llama3();
    } else if (kind == "yarn") {
      read_yarn();
    } else if (kind == "longrope" || kind == "su") {
      read_longrope();
    } else if (kind == "dynamic") {
      read_dynamic();
    } else if (kind == "proportional") {
      rope_.kind = RopeKind::proportional;
    } else {
      object_.fail("rope_type", fmt::format("\"{:.60}\" is not supported", kind),
                   "supported: default, linear, llama3, yarn, longrope, proportional");
    }
  }

 private:
  void read_llama3() {
    rope_.kind = RopeKind::llama3;
    rope_.factor = object_.number("factor", 1.0, most_factor);
    rope_.low_freq_factor = object_.number("low_freq_factor", 1e-6, most_factor);
    rope_.high_freq_factor = object_.number("high_freq_factor", 1e-6, most_factor);
    if (rope_.high_freq_factor < rope_.low_freq_factor) {
      object_.fail("high_freq_factor", "must not be smaller than low_freq_factor");
    }
    rope_.original_context = object_.integer("original_max_position_embeddings", context_range);
  }

  void read_yarn() {
    rope_.kind = RopeKind::yarn;
    rope_.original_context = original_context();
    rope_.factor =
        object_.optional_number("factor", 1.0, most_factor).value_or(std::max(stretched(), 1.0));
    rope_.beta_fast = object_.optional_number("beta_fast", 1e-6, most_factor).value_or(32.0);
    rope_.beta_slow = object_.optional_number("beta_slow", 1e-6, most_factor).value_or(1.0);
    if (rope_.beta_fast < rope_.beta_slow) {
      object_.fail("beta_fast", "must not be smaller than beta_slow");
    }
    rope_.truncate = object_.boolean_or("truncate", true);
    const double mscale = object_.optional_number("mscale", 0.0, 100.0).value_or(0.0);
    const double mscale_all_dim =
        object_.optional_number("mscale_all_dim", 0.0, 100.0).value_or(0.0);
    const double otherwise =
        mscale > 0 && mscale_all_dim > 0
            ? yarn_mscale(rope_.factor, mscale) / yarn_mscale(rope_.factor, mscale_all_dim)
            : yarn_mscale(rope_.factor, 1.0);
    rope_.attention_factor =
        object_.optional_number("attention_factor", 1e-6, most_factor).value_or(otherwise);
    object_.ignore("finetuned");
  }

  void read_longrope() {
    rope_.kind = RopeKind::longrope;
    rope_.original_context = original_context();
    rope_.short_factors = factors("short_factor");
    rope_.long_factors = factors("long_factor");
    const double stated =
        object_.optional_number("factor", 1e-6, most_factor).value_or(stretched());
    rope_.factor = defaults_.original_context ? stretched() : stated;
    const double original = std::max(static_cast<double>(rope_.original_context), 2.0);
    const double otherwise =
        rope_.factor <= 1.0 ? 1.0 : std::sqrt(1.0 + std::log(rope_.factor) / std::log(original));
    rope_.attention_factor =
        object_.optional_number("attention_factor", 1e-6, most_factor).value_or(otherwise);
  }

  // The frequencies of `dynamic` depend on the length of each sequence, and are refused, but with
  // an `alpha` (Hunyuan) they are those of a larger theta, once and for all.
  void read_dynamic() {
    if (!defaults_.alpha || !object_.has("alpha")) {
      object_.fail("rope_type",
                   defaults_.alpha ? "\"dynamic\" is supported with an alpha only"
                                   : "\"dynamic\" is not supported for this family",
                   "supported: default, linear, llama3, yarn, longrope, proportional");
    }
    const double alpha = object_.number("alpha", 1.0, 1e9);
    if (object_.optional_number("factor", 1e-6, most_factor).value_or(1.0) != 1.0) {
      object_.fail("factor", "is not supported beside alpha, but 1");
    }
    object_.ignore({"beta_fast", "beta_slow", "mscale", "mscale_all_dim"});  // yarn's
    rope_.kind = RopeKind::plain;
    const auto dims = static_cast<double>(rope_.dims);
    if (rope_.dims > 2) rope_.theta *= std::pow(alpha, dims / (dims - 2.0));
  }

  int64_t original_context() {
    constexpr const char* key = "original_max_position_embeddings";
    const int64_t outside = defaults_.original_context.value_or(context_);
    const int64_t inside = object_.integer_or(key, outside, context_range);
    if (defaults_.original_stated && inside != outside) {
      object_.fail(key, fmt::format("{} contradicts {} outside", inside, outside));
    }
    return inside;
  }

  std::vector<double> factors(std::string_view key) {
    std::vector<double> values = object_.numbers_or_empty(key, 1e-6, most_factor, most_pairs);
    if (static_cast<int64_t>(values.size()) != rope_.dims / 2) {
      object_.fail(key, fmt::format("{} entries for {} pairs of rotated dimensions", values.size(),
                                    rope_.dims / 2));
    }
    return values;
  }

  double stretched() const {
    return static_cast<double>(context_) / static_cast<double>(rope_.original_context);
  }

  ConfigReader& object_;
  RopeSpec& rope_;
  int64_t context_;
  const RopeDefaults& defaults_;
};

// How much of a head turns, of which all pairs do but those of the proportional kind.
void set_dims(ConfigReader& config, int64_t head_dim, double partial, RopeSpec& rope) {
  rope.dims = head_dim;
  const auto turning = static_cast<int64_t>(static_cast<double>(head_dim) * partial);
  if (rope.kind == RopeKind::proportional) {
    rope.turning = turning / 2;
    return;
  }
  rope.dims = turning;
  if (rope.dims < 2 || rope.dims % 2 != 0) {
    config.fail("partial_rotary_factor",
                fmt::format("turns {} of {} dimensions, which are no pairs", turning, head_dim));
  }
}

// Of `object`, or else that of `defaults`, which may be none.
std::optional<double> theta_of(ConfigReader& object, const RopeDefaults& defaults) {
  if (!object.mentions("rope_theta")) return defaults.theta;
  return object.number_or("rope_theta", 0.0, 1.0, most_theta);
}

double partial_of(ConfigReader& config, double otherwise, const RopeDefaults& defaults) {
  const double partial = config.number_or("partial_rotary_factor", otherwise, 0.0, 1.0);
  if (!defaults.partial && partial != 1.0) {
    config.fail("partial_rotary_factor", "this family rotates whole heads");
  }
  return partial;
}

RopeSpec read_kind(ConfigReader& object, int64_t head_dim, int64_t context, double partial,
                   const RopeDefaults& defaults) {
  RopeSpec rope;
  rope.theta = *defaults.theta;
  const std::string kind = kind_of(object);
  if (kind == "proportional") rope.kind = RopeKind::proportional;
  set_dims(object, head_dim, partial, rope);
  RopeReader(object, rope, context, defaults).read(kind);
  object.finish();
  return rope;
}

}  // namespace

double yarn_mscale(double factor, double m) {
  return factor <= 1.0 ? 1.0 : 0.1 * m * std::log(factor) + 1.0;
}

RopeSpec read_rope_object(ConfigReader& object, int64_t head_dim, int64_t context,
                          const RopeDefaults& defaults) {
  RopeDefaults here = defaults;
  here.theta = theta_of(object, defaults);
  if (!here.theta) object.require("rope_theta");
  const double partial = partial_of(object, defaults.partial.value_or(1.0), defaults);
  return read_kind(object, head_dim, context, partial, here);
}

RopeSpec read_rope(ConfigReader& config, int64_t head_dim, int64_t context,
                   const RopeDefaults& defaults) {
  RopeDefaults outer = defaults;
  outer.theta = theta_of(config, defaults);
  const double outer_partial = partial_of(config, defaults.partial.value_or(1.0), defaults);
  if (config.has("rope_scaling") && config.has("rope_parameters")) {
    config.fail("rope_scaling", "stated beside rope_parameters", "keep one of the two");
  }
  const char* key = config.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  std::optional<ConfigReader> object = config.object(key);
  if (!object) {
    if (!outer.theta) config.require("rope_theta");
    RopeSpec rope;
    rope.theta = *outer.theta;
    set_dims(config, head_dim, outer_partial, rope);
    return rope;
  }
  const std::optional<double> theta = theta_of(*object, outer);
  if (!theta) config.require("rope_theta");
  if (config.has("rope_theta") && theta != outer.theta) {
    object->fail("rope_theta",
                 fmt::format("{} contradicts rope_theta {} outside", *theta, *outer.theta));
  }
  const double partial = partial_of(*object, outer_partial, defaults);
  if (config.has("partial_rotary_factor") && partial != outer_partial) {
    object->fail("partial_rotary_factor",
                 fmt::format("{} contradicts {} outside", partial, outer_partial));
  }
  outer.theta = theta;
  return read_kind(*object, head_dim, context, partial, outer);
}

}  // namespace dure
