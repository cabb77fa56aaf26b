#include "cost/weight_kinds.h"

#include <gtest/gtest.h>

#include "cost/engine_memory.h"
#include "cost/engine_weights.h"
#include "cost/retype.h"
#include "model/presets.h"

namespace dure {
namespace {

constexpr Layout layouts[] = {{1, 1, 1, 1}, {2, 2, 1, 1}, {2, 1, 4, 8}, {4, 2, 2, 4}};

TEST(WeightKinds, AddUpToWhatARankCountsAsWeights) {
  for (const char* name : {"deepseek-v3", "gpt-oss-120b", "llama-3.1-405b", "qwen3.5-27b"}) {
    ModelSpec spec = spec_of(*find_preset(name));
    const MemoryModel model(spec, retype(spec, ""));
    for (const Layout& layout : layouts) {
      for (const int rank : {0, layout.world() - 1}) {
        const WeightKinds kinds = weight_kinds(model, layout, rank, Compute::bf16);
        EXPECT_EQ(kinds.total(), model.of(layout, rank, {}).weights) << name << " rank " << rank;
      }
    }
  }
}

TEST(WeightKinds, OfAnEngineAddUpToo) {
  for (const Engine engine : {Engine::vllm, Engine::sglang, Engine::trtllm}) {
    ModelSpec spec = spec_of(*find_preset("gpt-oss-120b"));
    const MemoryModel model(spec, retype(spec, ""));
    EngineRun run;
    run.gpu_bytes = int64_t{80} << 30;
    run.profile = engine_profile(engine, "", run.gpu_bytes);
    for (const Layout& layout : layouts) {
      const WeightKinds kinds = engine_weight_kinds(model, run.profile, layout, 0, 2);
      EXPECT_EQ(kinds.total(), engine_rank_memory(model, run, layout, 0).weights);
    }
  }
}

// From its published sizes: 58 layers of 256 experts, each three matrices of 7168 × 2048, of a byte
// and of a scale in fp32 for each 128 × 128.
TEST(WeightKinds, PutDeepSeeksExpertsWhereTheyBelong) {
  ModelSpec spec = spec_of(*find_preset("deepseek-v3"));
  const MemoryModel model(spec, retype(spec, ""));
  const WeightKinds kinds = weight_kinds(model, {}, 0, Compute::bf16);
  const double experts = 58.0 * 256 * 3 * 7168 * 2048 * (1.0 + 4.0 / (128 * 128));
  EXPECT_NEAR(static_cast<double>(kinds.experts), experts, 0.001 * experts);
  EXPECT_EQ(kinds.embedding, int64_t{2} * 129280 * 7168 * 2);
  EXPECT_GT(kinds.attention, kinds.embedding);
}

TEST(WeightKinds, OfADenseModelHaveNoExperts) {
  ModelSpec spec = spec_of(*find_preset("llama-3.1-405b"));
  const WeightKinds kinds = weight_kinds(MemoryModel(spec), {}, 0, Compute::bf16);
  EXPECT_EQ(kinds.experts, 0);
  EXPECT_EQ(kinds.dense, int64_t{126} * 3 * 16384 * 53248 * 2);
}

}  // namespace
}  // namespace dure
