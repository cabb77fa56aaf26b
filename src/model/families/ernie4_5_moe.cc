// ERNIE 4.5 mixtures: neighbouring dimensions rotated together; a softmax router whose correction
// decides the choice only; shared experts in one wide part.
#include <fmt/format.h>

#include "model/decoder_config.h"
#include "model/families/family.h"
#include "model/moe_config.h"

namespace dure {
namespace {

// Every moe_layer_interval-th layer from start to end, both included; -1 is the last.
std::vector<bool> sparse_layers(ConfigReader& config, int64_t layers) {
  const int64_t first = config.integer_or("moe_layer_start_index", 1, {0, layers});
  const int64_t stated = config.integer_or("moe_layer_end_index", -1, {-1, 1024});
  const int64_t interval = config.integer_or("moe_layer_interval", 1, {1, 1024});
  const int64_t last = stated == -1 ? layers - 1 : stated;
  std::vector<bool> sparse(static_cast<size_t>(layers));
  for (int64_t i = first; i < layers && i <= last; ++i) {
    sparse[static_cast<size_t>(i)] = (i + 1) % interval == 0;
  }
  return sparse;
}

void read(ConfigReader& config, ModelSpec& spec) {
  const DecoderDefaults defaults{
      .norm_eps = 1e-5, .rope_theta = 500000.0, .kv_heads = 4, .tied = true};
  read_sizes(config, spec, defaults);
  const int64_t layers = read_layer_count(config);

  GqaSpec attention = read_attention(config, spec, defaults);
  attention.rope.interleaved = true;
  config.only_flag("use_bias", false);
  config.only_flag("attention_bias", false);
  config.only_flag("use_rmsnorm", true);
  config.only_flag("is_quantized", false);

  MoeFfn moe =
      read_moe(config, layers, {.experts = "moe_num_experts", .top_k = "moe_k", .chosen = 6});
  config.only_text("moe_gate", "topk");
  moe.router = {.correction = config.boolean_or("moe_use_aux_free", true), .normalize = true};
  config.ignore("moe_norm_min");  // the least sum of chosen weights, which softmax is far above
  config.ignore("moe_capacity");  // training only
  const int64_t shared = config.integer_or("moe_num_shared_experts", 2, {0, 1024});
  if (shared > 0) moe.shared = SharedExpert{.intermediate = shared * moe.intermediate};
  const DenseFfn dense = read_dense(config);

  spec.names.correction = "moe_statics.e_score_correction_bias";
  spec.names.shared = "shared_experts";
  spec.names.other_parts = {"model.mtp_"};
  spec.draft_layers = read_draft_layers(config);
  spec.layers = mix_layers(std::vector<AttentionSpec>(static_cast<size_t>(layers), attention),
                           sparse_layers(config, layers), dense, moe);
}

}  // namespace

const Family ernie4_5_moe_family{"ernie4_5_moe", read};

}  // namespace dure
