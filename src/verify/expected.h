// The recorded outputs that `dure verify` compares with: expected.safetensors beside a model. For
// prompts p0, p1, …: input_ids I64 [n], logits F32 [n, vocab], greedy I64 [steps], greedy_margin
// F32 [steps]; for mixtures also router_layers I32 [layers], router_topk_ids I32 [layers, n, k]
// ascending, router_weights F32 (same), and perhaps router_margin F32 [layers, n]; where an indexer
// chooses keys, perhaps index_margin F32 [indexed layers, n].
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace dure {

struct ExpectedPrompt {
  std::string name;  // "p0"
  std::vector<int32_t> input_ids;
  std::vector<float> logits;  // [n, vocab]
  std::vector<int32_t> greedy;
  std::vector<float> greedy_margin;
  std::vector<int32_t> router_ids;  // [layers, n, k]
  std::vector<float> router_weights;
  std::vector<float> router_margin;  // [layers, n]; infinite where none is recorded
  // [indexed layers, n]: the last chosen key's score minus the first dropped one's, infinite where
  // none is dropped. Empty where none is recorded.
  std::vector<float> index_margin;

  int64_t tokens() const { return static_cast<int64_t>(input_ids.size()); }
};

struct Expected {
  std::vector<int32_t> router_layers;
  int64_t top_k = 0;
  std::vector<ExpectedPrompt> prompts;
};

// Throws bad_input naming file and tensor.
Expected read_expected(const std::filesystem::path& file);

}  // namespace dure
