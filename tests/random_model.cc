// See random_model.h. The tensor list is the product's own inventory of the config.
#include "random_model.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
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

// A tensor of the file, which one weight or several fill.
struct Tensor {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  int64_t inputs;  // that one output of it sums over; 0: a vector

  int64_t bytes() const {
    int64_t elements = 1;
    for (const int64_t size : shape) elements *= size;
    return elements * bytes_of(dtype);
  }
};

std::vector<Tensor> tensors_of(const ModelSpec& spec) {
  std::vector<Tensor> tensors;
  std::set<std::string> seen;
  for (const Weight& weight : inventory(spec)) {
    if (!seen.insert(weight.name).second) continue;
    const DType dtype = weight.dtype == DType::f32 ? DType::f32 : DType::bf16;
    tensors.push_back({weight.name, dtype, weight.tensor_shape,
                       weight.is_matrix() ? weight.shape[1] : int64_t{0}});
  }
  return tensors;
}

// The exponent of the power of two just below the magnitude of a tensor's values.
int exponent_of(const Tensor& tensor) {
  if (tensor.inputs == 0) return -1;
  return static_cast<int>(std::floor(-0.5 * std::log2(static_cast<double>(tensor.inputs))));
}

// Values from 2^exponent to twice that; of matrices with random signs. Four bf16 fill a word, or
// two fp32, whose upper halves are bf16 as well.
void write_values(std::ofstream& file, const Tensor& tensor, std::mt19937_64& random) {
  constexpr uint64_t each = 0x0001000100010001u;
  const uint64_t exponent = static_cast<uint64_t>(127 + exponent_of(tensor)) << 7;
  const uint64_t free_bits = tensor.inputs == 0 ? 0x007fu : 0x807fu;
  std::vector<uint64_t> block(1 << 14);
  for (int64_t left = tensor.bytes(); left > 0;) {
    for (uint64_t& word : block) word = (random() & free_bits * each) | exponent * each;
    const auto bytes = std::min<int64_t>(left, static_cast<int64_t>(block.size() * 8));
    file.write(reinterpret_cast<const char*>(block.data()), bytes);
    left -= bytes;
  }
}

}  // namespace

void write_random_model(const std::filesystem::path& folder, const RandomModelShape& shape) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "config.json") << config_of(shape).dump(2);
  write_random_weights(folder);
}

void write_random_weights(const std::filesystem::path& folder) {
  const std::vector<Tensor> tensors = tensors_of(load_spec(folder));
  Json header = Json::object();
  int64_t offset = 0;
  for (const Tensor& tensor : tensors) {
    header[tensor.name] = {{"dtype", tensor.dtype == DType::f32 ? "F32" : "BF16"},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.bytes()}}};
    offset += tensor.bytes();
  }
  const std::string text = header.dump();
  std::ofstream file(folder / "model.safetensors", std::ios::binary);
  const uint64_t length = text.size();
  file.write(reinterpret_cast<const char*>(&length), sizeof(length));
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  std::mt19937_64 random(1);
  for (const Tensor& tensor : tensors) write_values(file, tensor, random);
}

}  // namespace dure
