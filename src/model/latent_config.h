// Latent attention as DeepSeek's config.json files, and those of its heirs, state it.
#pragma once

#include "model/config_reader.h"
#include "model/rope_config.h"
#include "model/spec.h"

namespace dure {

// num_attention_heads, q_lora_rank (null: queries are not compressed; absent: `q_rank`),
// kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim, v_head_dim, attention_bias and rope; no
// indexer.
MlaSpec read_latent_attention(ConfigReader& config, const ModelSpec& spec,
                              std::optional<int64_t> q_rank, int64_t layers);

// index_n_heads, index_head_dim, index_topk, indexer_rope_interleave (absent: `interleaved`): the
// indexer of layers that have one.
IndexerSpec read_indexer(ConfigReader& config, const MlaSpec& mla, bool interleaved);

}  // namespace dure
