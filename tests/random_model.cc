// See random_model.h. The tensor list is the product's own inventory of the config written first.
#include "random_model.h"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/inventory.h"
#include "model/load_spec.h"

namespace dure {
namespace {

Json config_of(const RandomModelShape& shape) {
  return {{"architectures", {"Qwen3MoeForCausalLM"}},
          {"model_type", "qwen3_moe"},
          {"attention_bias", false},
          {"decoder_sparse_step", 1},
          {"eos_token_id", 0},
          {"head_dim", shape.head_dim},
          {"hidden_act", "silu"},
          {"hidden_size", shape.hidden},
          {"intermediate_size", shape.expert_width},
          {"max_position_embeddings", 4096},
          {"mlp_only_layers", Json::array()},
          {"moe_intermediate_size", shape.expert_width},
          {"norm_topk_prob", true},
          {"num_attention_heads", shape.heads},
          {"num_experts", shape.experts},
          {"num_experts_per_tok", shape.top_k},
          {"num_hidden_layers", shape.layers},
          {"num_key_value_heads", shape.kv_heads},
          {"rms_norm_eps", 1e-6},
          {"rope_theta", 10000.0},
          {"tie_word_embeddings", false},
          {"torch_dtype", "bfloat16"},
          {"vocab_size", shape.vocab}};
}

}  // namespace

void write_random_model(const std::filesystem::path& folder, const RandomModelShape& shape) {
  std::filesystem::create_directories(folder);
  const Json config = config_of(shape);
  std::ofstream(folder / "config.json") << config.dump(2);
  const std::vector<Weight> weights = inventory(spec_from_config(config, "config.json"));
  Json header = Json::object();
  int64_t offset = 0;
  for (const Weight& weight : weights) {
    header[weight.name] = {{"dtype", "BF16"},
                           {"shape", weight.shape},
                           {"data_offsets", {offset, offset + weight.bytes()}}};
    offset += weight.bytes();
  }
  const std::string text = header.dump();
  std::ofstream file(folder / "model.safetensors", std::ios::binary);
  const uint64_t length = text.size();
  file.write(reinterpret_cast<const char*>(&length), sizeof(length));
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  // bf16 values of magnitude 2^-6 to 2^-5 with random signs and mantissas.
  std::mt19937_64 random(1);
  std::vector<uint64_t> block(1 << 16);
  for (int64_t left = offset; left > 0;) {
    for (uint64_t& four : block) {
      four = (random() & 0x807f807f807f807full) | 0x3c803c803c803c80ull;
    }
    const auto bytes = std::min<int64_t>(left, static_cast<int64_t>(block.size() * 8));
    file.write(reinterpret_cast<const char*>(block.data()), bytes);
    left -= bytes;
  }
}

}  // namespace dure
