// DeepSeek-V3.2 and GLM-5: DeepSeek-V3 whose queries see the keys that an indexer chooses
// (arXiv:2512.02556); in later GLM-5 versions most layers reuse the choice of one before.
#include <fmt/format.h>

#include "model/families/deepseek.h"
#include "model/families/family.h"

namespace dure {
namespace {

// "full": an indexer of its own; "shared": the choice of the last such layer.
std::vector<bool> reusing_layers(ConfigReader& config, int64_t layers) {
  std::vector<bool> reusing(static_cast<size_t>(layers));
  const auto types = read_layer_texts(config, "indexer_types", layers);
  const int64_t step = config.integer_or("index_topk_freq", 1, {1, 1024});
  const int64_t offset = config.integer_or("index_skip_topk_offset", 2, {0, 1024});
  config.refuse("index_topk_pattern", "is not supported; indexer_types is");
  for (int64_t i = 0; i < layers; ++i) {
    const auto at = static_cast<size_t>(i);
    if (!types.empty() && types[at] != "full" && types[at] != "shared") {
      config.fail("indexer_types", fmt::format("\"{:.60}\" is not supported", types[at]),
                  "supported: full, shared");
    }
    reusing[at] = std::max<int64_t>(i - offset + 1, 0) % step != 0;
    if (types.empty()) continue;
    const bool shared = types[at] == "shared";
    if (config.has("index_topk_freq") && shared != reusing[at]) {
      config.fail("indexer_types", fmt::format("contradicts index_topk_freq at layer {}", i));
    }
    reusing[at] = shared;
  }
  if (reusing[0]) config.fail("indexer_types", "the first layer has no choice to reuse");
  return reusing;
}

// mlp_layer_types, where stated, says the same as first_k_dense_replace.
void check_layer_types(ConfigReader& config, const ModelSpec& spec) {
  const auto types =
      read_layer_texts(config, "mlp_layer_types", static_cast<int64_t>(spec.layers.size()));
  for (size_t i = 0; i < types.size(); ++i) {
    const bool sparse = std::holds_alternative<MoeFfn>(spec.layers[i].ffn);
    if (types[i] != (sparse ? "sparse" : "dense")) {
      config.fail("mlp_layer_types", fmt::format("layer {} is \"{:.60}\", which "
                                                 "first_k_dense_replace contradicts",
                                                 i, types[i]));
    }
  }
}

void add_indexers(ConfigReader& config, ModelSpec& spec, const std::vector<bool>& reusing,
                  bool interleaved) {
  const IndexerSpec indexer =
      read_indexer(config, std::get<MlaSpec>(spec.layers[0].attention), interleaved);
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    auto& mla = std::get<MlaSpec>(spec.layers[i].attention);
    mla.indexer = indexer;
    mla.indexer->reuse = reusing[i];
  }
}

void read_deepseek_v32(ConfigReader& config, ModelSpec& spec) {
  read_deepseek(config, spec, {});
  add_indexers(config, spec, std::vector<bool>(spec.layers.size()), false);
}

void read_glm(ConfigReader& config, ModelSpec& spec) {
  read_deepseek(config, spec, {.norm_eps = 1e-5, .q_rank = 2048, .routing = {.scale = 2.5}});
  check_layer_types(config, spec);
  const auto layers = static_cast<int64_t>(spec.layers.size());
  for (const std::string& type : read_layer_texts(config, "layer_types", layers)) {
    if (type != "deepseek_sparse_attention") {
      config.fail("layer_types", fmt::format("\"{:.60}\" is not supported", type),
                  "supported: deepseek_sparse_attention");
    }
  }
  if (const auto* moe = std::get_if<MoeFfn>(&spec.layers.back().ffn)) {
    config.only_integer("num_experts", moe->experts);
  }
  config.ignore("index_share_for_mtp_iteration");  // drafting layers are not run
  add_indexers(config, spec, reusing_layers(config, layers), true);
}

}  // namespace

const Family deepseek_v32_family{"deepseek_v32", read_deepseek_v32};
const Family glm_moe_dsa_family{"glm_moe_dsa", read_glm};

}  // namespace dure
