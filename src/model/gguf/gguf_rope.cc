// See gguf_rope.h.
#include "model/gguf/gguf_rope.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "model/rope_config.h"

namespace dure {
namespace {

Json yarn(GgufTranslator& file, const GgufRope& kind) {
  Json rope = {{"rope_type", "yarn"}, {"truncate", kind.truncate}};
  const double factor = file.number("rope.scaling.factor").value_or(1.0);
  rope["factor"] = factor;
  if (const auto original = file.integer("rope.scaling.original_context_length")) {
    rope["original_max_position_embeddings"] = *original;
  }
  if (const auto fast = file.number("rope.scaling.yarn_beta_fast")) rope["beta_fast"] = *fast;
  if (const auto slow = file.number("rope.scaling.yarn_beta_slow")) rope["beta_slow"] = *slow;
  if (kind.latent) {
    // Written as a tenth of mscale_all_dim, which releases set equal to mscale.
    const double multiplier = file.number("rope.scaling.yarn_log_multiplier").value_or(0.0);
    rope["mscale_all_dim"] = 10.0 * multiplier;
    rope["attention_factor"] = 1.0;
  } else if (const auto factor_of_all = file.number("rope.scaling.yarn_attn_factor")) {
    rope["attention_factor"] = *factor_of_all * yarn_mscale(factor, 1.0);
  } else if (const auto older = file.number("rope.scaling.attn_factor")) {
    rope["attention_factor"] = *older * yarn_mscale(factor, 1.0);
  }
  file.only_number("rope.scaling.yarn_ext_factor", {1.0, -1.0});
  return rope;
}

}  // namespace

void translate_rope(GgufTranslator& file, int64_t dims, const GgufRope& kind) {
  file.optional_number("rope_theta", "rope.freq_base");
  if (const auto turned = file.integer("rope.dimension_count"); turned && *turned != dims) {
    file.fail("rope.dimension_count",
              fmt::format("{} of {} dimensions of a head: turning a part is not supported here",
                          *turned, dims),
              "compare with the config.json that the model was released with");
  }
  file.ignore({"rope.scaling.finetuned"});
  const std::string type = file.text_or("rope.scaling.type", "none");
  const auto older = file.number("rope.scale_linear");
  if (type == "yarn") {
    file.set_as("rope_scaling", "rope.scaling.type", yarn(file, kind));
  } else if (type == "linear" || (type == "none" && older.value_or(1.0) != 1.0)) {
    const double factor = file.number("rope.scaling.factor").value_or(older.value_or(1.0));
    file.set_as("rope_scaling", "rope.scaling.type",
                Json{{"rope_type", "linear"}, {"factor", factor}});
  } else if (type == "none") {
    file.ignore({"rope.scaling.factor", "rope.scaling.original_context_length"});
    // Stated, since some families assume scaling where a config.json is silent.
    file.set_as("rope_scaling", "rope.scaling.type", Json{{"rope_type", "default"}});
  } else {
    file.fail("rope.scaling.type", fmt::format("\"{:.60}\" is not supported", type),
              "supported: none, linear, yarn");
  }
}

}  // namespace dure
