// Writes a checkpoint of a chosen size with random weights: for tests that need more bytes than
// shipped models have, not for what it says.
#pragma once

#include <filesystem>

namespace dure {

struct RandomModelShape {
  int hidden = 512;
  int layers = 4;
  int heads = 8;
  int kv_heads = 4;
  int head_dim = 64;
  int experts = 16;
  int top_k = 4;
  int expert_width = 1024;
  int vocab = 8192;
};

// A qwen3_moe checkpoint of BF16 weights in `folder` (config.json, model.safetensors).
void write_random_model(const std::filesystem::path& folder, const RandomModelShape& shape);

}  // namespace dure
