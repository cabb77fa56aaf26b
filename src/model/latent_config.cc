// See latent_config.h.
#include "model/latent_config.h"

#include <fmt/format.h>

#include <cmath>

#include "model/decoder_config.h"

namespace dure {
namespace {

constexpr IntRange rank_range{1, int64_t{1} << 18};
constexpr int64_t most_heads_of_all_layers = 65536;  // each is listed on its own

// How much YaRN sharpens attention, beyond what it makes of cos and sin: mscale_all_dim's square.
double yarn_sharpening(ConfigReader& config, const RopeSpec& rope) {
  if (rope.kind != RopeKind::yarn) return 1.0;
  const char* key = config.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  const double all_dim =
      config.object(key)->optional_number("mscale_all_dim", 0.0, 100.0).value_or(0.0);
  const double mscale = all_dim == 0.0 ? 1.0 : yarn_mscale(rope.factor, all_dim);
  return mscale * mscale;
}

}  // namespace

MlaSpec read_latent_attention(ConfigReader& config, const ModelSpec& spec,
                              std::optional<int64_t> q_rank, int64_t layers) {
  MlaSpec mla;
  mla.heads = read_head_count(config, "num_attention_heads");
  if (mla.heads * layers > most_heads_of_all_layers) {
    config.fail("num_attention_heads", fmt::format("{} in each of {} layers: more than {} in all",
                                                   mla.heads, layers, most_heads_of_all_layers));
  }
  config.ignore("num_key_value_heads");  // all heads share one latent
  mla.q_rank = config.optional_integer("q_lora_rank", rank_range);
  if (!config.mentions("q_lora_rank")) mla.q_rank = q_rank;
  mla.kv_rank = config.integer("kv_lora_rank", rank_range);
  mla.nope_dim = read_head_dim(config, "qk_nope_head_dim");
  mla.rope_dim = read_head_dim(config, "qk_rope_head_dim");
  mla.v_dim = read_head_dim(config, "v_head_dim");
  if (mla.rope_dim % 2 != 0) {
    config.fail("qk_rope_head_dim", fmt::format("{} is odd: rotary embedding turns pairs of "
                                                "dimensions",
                                                mla.rope_dim));
  }
  config.only_integer("qk_head_dim", mla.nope_dim + mla.rope_dim);
  // Some tool's choice of one of the sizes above.
  config.ignore("head_dim");
  mla.bias = config.boolean_or("attention_bias", false);
  mla.rope = read_rope(config, mla.rope_dim, spec.context, {});
  mla.rope.interleaved = config.boolean_or("rope_interleave", true);
  mla.scale = yarn_sharpening(config, mla.rope) /
              std::sqrt(static_cast<double>(mla.nope_dim + mla.rope_dim));
  return mla;
}

IndexerSpec read_indexer(ConfigReader& config, const MlaSpec& mla, bool interleaved) {
  IndexerSpec indexer;
  if (!mla.q_rank) config.fail("q_lora_rank", "missing: the indexer reads compressed queries");
  indexer.heads = read_head_count(config, "index_n_heads");
  indexer.head_dim = read_head_dim(config, "index_head_dim");
  indexer.top_k = config.integer("index_topk", {1, int64_t{1} << 30});
  if (indexer.head_dim < mla.rope_dim) {
    config.fail("index_head_dim", fmt::format("{} is less than qk_rope_head_dim = {}",
                                              indexer.head_dim, mla.rope_dim));
  }
  indexer.rope = mla.rope;
  indexer.rope.interleaved = config.boolean_or("indexer_rope_interleave", interleaved);
  return indexer;
}

}  // namespace dure
