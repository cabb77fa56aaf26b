// Writes a checkpoint with random weights: for tests that need more bytes than shipped models have,
// and for a family of which no small checkpoint is published.
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

// model.safetensors with every tensor that the inventory of `folder`'s config.json lists, in BF16,
// router corrections in F32. Rows of matrices have norms near one, so that logits differ by about
// one; vectors (norms, biases) lie between 0.5 and 1. Throws bad_input if the config cannot be
// read.
void write_random_weights(const std::filesystem::path& folder);

}  // namespace dure
