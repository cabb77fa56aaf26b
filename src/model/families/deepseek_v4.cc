// DeepSeek-V4: attention over a window and compressed keys, four copies of the stream, mixtures of
// which the first look their experts up by the token.
#include <fmt/format.h>

#include <cmath>

#include "model/decoder_config.h"
#include "model/families/family.h"
#include "model/moe_config.h"

namespace dure {
namespace {

constexpr int64_t overlapping_ratio = 4;  // the ratio of layers that choose compressed keys

CompressedSpec read_compressed(ConfigReader& config, const ModelSpec& spec) {
  CompressedSpec attention;
  attention.heads = read_head_count(config, "num_attention_heads");
  config.only_integer("num_key_value_heads", 1);
  attention.head_dim = read_head_dim(config, "head_dim");
  attention.rope_dim = config.integer("qk_rope_head_dim", {2, attention.head_dim});
  attention.q_rank = read_width(config, "q_lora_rank");
  attention.o_groups = config.integer("o_groups", {1, attention.heads});
  attention.o_rank = read_width(config, "o_lora_rank");
  if (attention.heads % attention.o_groups != 0) {
    config.fail("o_groups",
                fmt::format("{} groups of {} heads", attention.o_groups, attention.heads));
  }
  attention.window = config.integer("sliding_window", {1, int64_t{1} << 30});
  config.only_flag("attention_bias", false);
  attention.rope = read_rope(config, attention.rope_dim, spec.context, {});
  attention.rope.interleaved = true;
  attention.rope.attention_factor = 1.0;
  config.number_or("compress_rope_theta", 160000.0, 1.0, 1e15);
  return attention;
}

IndexerSpec read_compressed_indexer(ConfigReader& config) {
  IndexerSpec indexer;
  indexer.heads = read_head_count(config, "index_n_heads");
  indexer.head_dim = read_head_dim(config, "index_head_dim");
  indexer.top_k = config.integer("index_topk", {1, int64_t{1} << 30});
  return indexer;
}

// compress_ratios has one for each layer, and perhaps one for each that drafts.
std::vector<AttentionSpec> read_mixers(ConfigReader& config, const ModelSpec& spec,
                                       int64_t layers) {
  const CompressedSpec attention = read_compressed(config, spec);
  const IndexerSpec indexer = read_compressed_indexer(config);
  const auto ratios = config.integers_or_empty("compress_ratios", {0, 1 << 20}, 2048);
  const auto stated = static_cast<int64_t>(ratios.size());
  if (stated != layers && stated != layers + spec.draft_layers) {
    config.fail("compress_ratios", fmt::format("{} entries for {} layers and {} that draft", stated,
                                               layers, spec.draft_layers));
  }
  std::vector<AttentionSpec> mixers;
  for (size_t i = 0; i < static_cast<size_t>(layers); ++i) {
    CompressedSpec own = attention;
    own.ratio = ratios[i];
    own.overlap = own.ratio == overlapping_ratio;
    if (own.overlap) own.indexer = indexer;
    mixers.emplace_back(own);
  }
  return mixers;
}

MoeFfn read_mixture(ConfigReader& config, int64_t layers) {
  MoeFfn moe;
  read_expert_count(config, layers, {.experts = "n_routed_experts", .chosen = 6}, moe);
  moe.intermediate = read_width(config, "moe_intermediate_size");
  config.only_text("hidden_act", "silu");
  moe.activation = {.kind = Activation::clamped_silu,
                    .limit = config.number_or("swiglu_limit", 10.0, 1e-3, 1e6)};
  config.only_text("scoring_func", "sqrtsoftplus");
  config.only_text("topk_method", "noaux_tc");
  moe.router = {.score = RouterScore::sqrt_softplus,
                .correction = true,
                .normalize = config.boolean_or("norm_topk_prob", true),
                .epsilon = 1e-20,
                .scale = config.number_or("routed_scaling_factor", 1.5, 1e-6, 1e6)};
  const int64_t shared = config.integer_or("n_shared_experts", 1, {0, 64});
  if (shared > 0) moe.shared = SharedExpert{.intermediate = shared * moe.intermediate};
  return moe;
}

void read(ConfigReader& config, ModelSpec& spec) {
  read_sizes(config, spec, {});
  const int64_t layers = read_layer_count(config);
  spec.streams = config.integer_or("hc_mult", 4, {2, 64});
  config.integer_or("hc_sinkhorn_iters", 20, {1, 1000});  // how the streams' mixing is balanced
  config.number_or("hc_eps", 1e-6, 0.0, 1.0);

  const MoeFfn moe = read_mixture(config, layers);
  const int64_t by_token = config.integer_or("num_hash_layers", 3, {0, layers});
  spec.draft_layers = read_draft_layers(config);
  const auto mixers = read_mixers(config, spec, layers);
  for (size_t i = 0; i < mixers.size(); ++i) {
    MoeFfn own = moe;
    own.router.by_token = static_cast<int64_t>(i) < by_token;
    own.router.correction = !own.router.by_token;
    spec.layers.push_back({mixers[i], own});
  }
  spec.names = {.body = "",
                .embedding = "embed",
                .head = "head.weight",
                .attention = "attn",
                .attention_norm = "attn_norm",
                .ffn_norm = "ffn_norm",
                .moe_block = "ffn",
                .correction = "gate.bias",
                .shared = "shared_experts",
                .shared_as_experts = true,
                .gate_proj = "w1",
                .up_proj = "w3",
                .down_proj = "w2",
                .other_parts = {"mtp."}};
  spec.planned_only = "attention over compressed keys is not run yet";
}

}  // namespace

const Family deepseek_v4_family{"deepseek_v4", read};
const Family deepseek_ref_family{"deepseek_ref", read};  // as one release of it is named

}  // namespace dure
