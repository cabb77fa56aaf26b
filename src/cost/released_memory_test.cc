// What is counted of releases whose matrices are stored in small types.
#include <gmock/gmock.h>

#include <filesystem>
#include <string>

#include "base/error.h"
#include "cost/fit.h"
#include "cost/memory.h"
#include "cost/resident.h"
#include "cost/retype.h"
#include "model/checkpoint.h"
#include "model/load_spec.h"
#include "model/quantized/scaled_codes.h"

namespace dure {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

ModelSpec released(const std::string& name) {
  return load_spec(std::filesystem::path(DURE_SOURCE_DIR) / "testdata/configs/released" / name);
}

constexpr int64_t gib = int64_t{1} << 30;

TEST(Memory, ReTypedWeightsKeepEmbeddingHeadAndRouter) {
  const ModelSpec spec = released("Qwen--Qwen3-30B-A3B.json");
  int64_t matrices = 0;
  for (const Weight& weight : inventory(spec)) {
    const bool kept = weight.part == Part::embedding || weight.part == Part::lm_head ||
                      weight.part == Part::router;
    if (weight.is_matrix() && !kept) matrices += weight.elements();
  }
  const MemoryModel fp8(spec, find_weight_format("fp8"));
  EXPECT_EQ(fp8.all_weights(), 2 * total_parameters(spec) - matrices);
  EXPECT_EQ(MemoryModel(spec).of({}, 0, {}).weights - fp8.of({}, 0, {}).weights, matrices);
  EXPECT_THROW(find_weight_format("fp7"), Error);
}

// A release in small blocks whose matrices are made codes holds what one in bf16 would hold.
TEST(Memory, CodesMadeWhileLoadingCountTheSameOfAnyRelease) {
  const auto weights = [](const char* name, const char* as, CodeFormat codes) {
    ModelSpec spec = released(name);
    const std::optional<WeightFormat> format = retype(spec, as);
    RunShape shape;
    shape.quantize = codes;
    const RankMemory memory = MemoryModel(spec, format).of({}, 0, shape);
    return memory.weights + memory.padding;
  };
  for (const char* name :
       {"Qwen--Qwen3-30B-A3B-FP8.json", "Qwen--Qwen3-32B-FP8.json", "openai--gpt-oss-120b.json"}) {
    for (const CodeFormat codes : {CodeFormat::q8, CodeFormat::q4}) {
      EXPECT_EQ(weights(name, "", codes), weights(name, "bf16", codes)) << name;
    }
    EXPECT_LT(weights(name, "", CodeFormat::none), weights(name, "bf16", CodeFormat::none)) << name;
  }
}

// Latent attention with an indexer, layers that keep a state, windows and biases: fp8, nvfp4,
// mxfp4.
TEST(Memory, CodesMadeOfReleasesAreCountedAsRanksAllocateThem) {
  for (const char* name : {"deepseek-ai--DeepSeek-V3.2.json", "nvidia--Qwen3.6-35B-A3B-NVFP4.json",
                           "openai--gpt-oss-20b.json"}) {
    ModelSpec spec = released(name);
    const std::optional<WeightFormat> format = retype(spec, "");
    ASSERT_TRUE(format.has_value()) << name;
    spec.layers.resize(8);
    const MemoryModel model(spec, format);
    const std::vector<Weight> weights = inventory(spec);
    for (const CodeFormat codes : {CodeFormat::q8, CodeFormat::q4}) {
      for (const Layout& layout : {Layout{}, Layout{2, 2, 1, 2}}) {
        RunShape shape;
        shape.quantize = codes;
        for (int rank = 0; rank < layout.world(); ++rank) {
          const RankMemory counted = model.of(layout, rank, shape);
          const RankMemory allocated = rank_memory(weights, spec, layout, rank, shape);
          EXPECT_EQ(counted.weights, allocated.weights) << name << ' ' << to_string(layout);
          EXPECT_EQ(counted.padding, allocated.padding) << name << ' ' << to_string(layout);
        }
      }
    }
  }
}

TEST(Memory, OfAGgufFileIsThatOfItsBlocks) {
  for (const char* name : {"gguf-llama-legacy-mix", "gguf-llama-iq-low"}) {
    const auto folder = std::filesystem::path(DURE_SOURCE_DIR) / "testdata/models" / name;
    const ModelSpec spec = load_spec(folder);
    const std::vector<Weight> weights = bind_inventory(spec, *CheckpointReader::open(folder));
    int64_t stored = 0;
    for (const Weight& weight : weights) stored += weight.bytes();
    for (const Compute compute : {Compute::bf16, Compute::fp32}) {
      RunShape shape;
      shape.compute = compute;
      const RankMemory memory = rank_memory(weights, spec, {}, 0, shape);
      EXPECT_EQ(memory.weights + memory.padding, stored) << name;
      // What tp cuts within blocks is on both sides.
      int64_t on_both = 0;
      for (int rank = 0; rank < 2; ++rank) {
        const RankMemory half = rank_memory(weights, spec, {.tp = 2}, rank, shape);
        on_both += half.weights + half.padding;
      }
      EXPECT_GE(on_both, stored) << name;
      EXPECT_LT(static_cast<double>(on_both), 1.5 * static_cast<double>(stored)) << name;
    }
  }
}

// Codes lie in blocks of 32 outputs and 32 inputs: in each of 3 layers, 2 matrices of 176 outputs
// have 16 more of 96 inputs, and 96 rows of 176 inputs 16 more, half a byte each.
TEST(Memory, OfCodesAndScalesIsThatOfTheFile) {
  struct Case {
    const char* name;
    int64_t padding;
  };
  for (const auto& [name, padding] : {Case{"llama-nvfp4-partial", 3 * (2 * 16 * 96 + 96 * 16) / 2},
                                      Case{"qwen2-gptq-g64-actorder", 0}}) {
    const auto folder = std::filesystem::path(DURE_SOURCE_DIR) / "testdata/models" / name;
    const ModelSpec spec = load_spec(folder);
    const auto checkpoint = CheckpointReader::open(folder);
    const std::vector<Weight> weights = bind_inventory(spec, *checkpoint);
    int64_t stored = 0;
    for (const StoredTensor& tensor : checkpoint->tensors()) {
      if (tensor.codes) stored += stored_bytes(*tensor.codes);
    }
    int64_t kept = 0;
    for (const Resident& each :
         resident_weights(weights, spec, {}, share_of(spec, {}, 0), Compute::bf16)) {
      if (each.shape.in_blocks()) kept += each.bytes();
    }
    EXPECT_GT(stored, 0) << name;
    EXPECT_EQ(kept, stored + padding) << name;
  }
}

}  // namespace
}  // namespace dure
