#include "cost/engine_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "cluster/gpu.h"
#include "cost/engine_activation.h"
#include "cost/engine_weights.h"
#include "cost/fit.h"
#include "cost/retype.h"
#include "model/load_spec.h"

namespace dure {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t mib = int64_t{1} << 20;
constexpr int64_t gib = int64_t{1} << 30;

ModelSpec spec_of(const std::string& path) {
  return load_spec(std::filesystem::path(DURE_SOURCE_DIR) / "testdata/configs" / (path + ".json"));
}

EngineRun run_of(Engine engine, const char* gpu, const char* version = "") {
  EngineRun run;
  run.gpu_bytes = find_gpu(gpu).usable_bytes;
  run.profile = engine_profile(engine, version, run.gpu_bytes);
  run.max_len = 8192;
  return run;
}

// Tokens that a pool of so many bytes makes on rank 0.
CacheCapacity capacity_of(const ModelSpec& spec, const EngineProfile& profile, const Layout& layout,
                          int64_t pool, int64_t max_len = 8192) {
  return cache_capacity(spec, profile, layout, share_of(spec, layout, 0), {pool, 2, max_len, 8192});
}

// Of each row the pool as printed, so that only the arithmetic of pages is held here.
struct PrintedTokens {
  const char* config;
  Layout layout;
  double pool_gib;
  int64_t max_len;
  int64_t tokens;
};

// vLLM 0.19.0 on an H100.
constexpr PrintedTokens printed[] = {
    {"released/meta-llama--Meta-Llama-3.1-8B", {1, 1, 1, 1}, 58.11, 8192, 476'016},
    {"measured/Qwen--Qwen2.5-7B-Instruct", {4, 1, 1, 1}, 67.34, 8192, 5'043'280},
    {"measured/moonshotai--Kimi-Dev-72B", {2, 1, 1, 1}, 3.02, 8192, 19'776},
    {"measured/microsoft--phi-2", {1, 1, 1, 1}, 69.0, 2048, 226'112},
    {"measured/google--gemma-2-27b-it", {1, 1, 1, 1}, 20.59, 8192, 58'672},
    {"measured/google--gemma-2-2b-it", {1, 1, 1, 1}, 66.47, 8192, 670'160},
    {"measured/google--gemma-3-12b-it", {1, 1, 1, 1}, 47.72, 8192, 130'304},
    {"measured/google--gemma-3-4b-it", {1, 1, 1, 1}, 62.51, 8192, 468'144},
};

TEST(EngineCache, PagesOfAPrintedPoolAreThePrintedTokens) {
  const EngineProfile profile = engine_profile(Engine::vllm, "0.19.0", 79 * gib);
  for (const PrintedTokens& row : printed) {
    const auto pool = static_cast<int64_t>(row.pool_gib * static_cast<double>(gib));
    const CacheCapacity capacity =
        capacity_of(spec_of(row.config), profile, row.layout, pool, row.max_len);
    // Pools are printed to a hundredth of a GiB.
    const double rounding = 0.005 / row.pool_gib + 16.0 / static_cast<double>(row.tokens);
    EXPECT_NEAR(static_cast<double>(capacity.tokens) / static_cast<double>(row.tokens), 1.0,
                rounding)
        << row.config;
  }
}

TEST(EngineCache, RanksBeyondTheKvHeadsHoldOneEach) {
  const ModelSpec spec = spec_of("released/Qwen--Qwen3-235B-A22B");  // 94 layers, 4 heads of 128
  const EngineProfile profile = engine_profile(Engine::vllm, "0.19.0", 79 * gib);
  const int64_t head = int64_t{94} * 2 * 128 * 2;
  for (const int tp : {4, 8, 16}) {
    EXPECT_EQ(capacity_of(spec, profile, {tp, 1, 1, 1}, 1000 * 16 * head).tokens, 16'000) << tp;
  }
  EXPECT_EQ(capacity_of(spec, profile, {2, 1, 1, 1}, 1000 * 16 * head).tokens, 8'000);
}

TEST(EngineCache, ALatentVectorIsWholeOnEveryRank) {
  const ModelSpec spec = spec_of("released/deepseek-ai--DeepSeek-V3");
  const EngineProfile profile = engine_profile(Engine::vllm, "0.19.0", 79 * gib);
  for (const int tp : {1, 2, 8}) {
    EXPECT_EQ(capacity_of(spec, profile, {tp, 1, 1, 1}, int64_t{70'272} * 16'000).tokens, 16'000)
        << tp;
  }
}

TEST(EngineCache, SparseAttentionKeepsItsIndexKeysInFp8WithScales) {
  const ModelSpec spec = spec_of("released/deepseek-ai--DeepSeek-V3.2");
  const EngineProfile profile = engine_profile(Engine::vllm, "0.19.0", 139 * gib);
  const auto tokens = [&](int64_t element_bytes, int64_t token_bytes) {
    return cache_capacity(spec, profile, {8, 1, 1, 1}, share_of(spec, {8, 1, 1, 1}, 0),
                          {61 * token_bytes * 16'000, element_bytes, 8192, 8192})
        .tokens;
  };
  EXPECT_EQ(tokens(2, 576 * 2 + 132), 16'000);
  EXPECT_EQ(tokens(1, 512 + 16 + 128 + 132), 16'000);
}

// 36 layers, every other one windowed at 128: two groups of 18 that share pages of 16 tokens.
TEST(EngineCache, LongSequencesOfWindowedModelsCostWhatTheirWindowsReach) {
  const ModelSpec spec = spec_of("released/openai--gpt-oss-120b");
  const int64_t page = int64_t{18} * 2 * 8 * 64 * 2 * 16;
  const CacheCapacity older = capacity_of(spec, engine_profile(Engine::vllm, "0.19.0", 79 * gib),
                                          {1, 1, 1, 1}, 10'000 * page, 131'072);
  EXPECT_EQ(older.tokens, 10'000 / 2 * 16);
  const int64_t windowed = (127 + 8192 + 15) / 16 + 1;
  EXPECT_DOUBLE_EQ(older.sequences, 10'000.0 / (8192.0 + static_cast<double>(windowed)));
  const CacheCapacity newer = capacity_of(spec, engine_profile(Engine::vllm, "0.25.0", 79 * gib),
                                          {1, 1, 1, 1}, 10'000 * page, 131'072);
  EXPECT_EQ(newer.tokens, static_cast<int64_t>(newer.sequences * 131'072));
  EXPECT_GT(newer.tokens, older.tokens);
}

// 10 layers of keys, 30 of states: four groups of 10, a state to a page.
TEST(EngineCache, AStateTakesOnePageOfItsGroup) {
  const ModelSpec spec = spec_of("released/Qwen--Qwen3.5-35B-A3B");
  const EngineProfile profile = engine_profile(Engine::vllm, "0.25.0", 79 * gib);
  const int64_t state = int64_t{32} * 128 * 128 * 4 + 3 * 8192 * 2;
  const int64_t token = 2 * 2 * 256 * 2;
  const int64_t page_tokens = (state / token + 15) / 16 * 16;
  const int64_t pages = 5'000;
  const CacheCapacity capacity =
      capacity_of(spec, profile, {1, 1, 1, 1}, pages * 10 * page_tokens * token, 131'072);
  const int64_t of_keys = (131'072 + page_tokens - 1) / page_tokens;
  EXPECT_DOUBLE_EQ(capacity.sequences, 5'000.0 / static_cast<double>(of_keys + 3));
}

TEST(EngineCache, CompressedKeysAreOnlyCountedWhereTheyWereMeasured) {
  const ModelSpec spec = spec_of("released/deepseek-ai--DeepSeek-V4-Flash");
  EXPECT_FALSE(
      capacity_of(spec, engine_profile(Engine::vllm, "", 79 * gib), {8, 1, 1, 1}, 9 * gib).known);
  EXPECT_TRUE(
      capacity_of(spec, engine_profile(Engine::sglang, "", 79 * gib), {8, 1, 1, 1}, 9 * gib).known);
}

TEST(EngineCache, AnEmptyPoolHoldsNothing) {
  const ModelSpec spec = spec_of("released/Qwen--Qwen3-8B");
  for (const Engine engine : {Engine::vllm, Engine::sglang, Engine::trtllm}) {
    const EngineProfile profile = engine_profile(engine, "", 79 * gib);
    EXPECT_EQ(capacity_of(spec, profile, {1, 1, 1, 1}, 0).tokens, 0);
    EXPECT_EQ(capacity_of(spec, profile, {1, 1, 1, 1}, -gib).tokens, 0);
  }
}

// Residual stream, input and output, gate and up, and their product: (3 × 4096 + 3 × 14336) × 2.
TEST(EngineActivation, ALayersPeakIsItsWidestOperation) {
  const ModelSpec spec = spec_of("released/meta-llama--Meta-Llama-3.1-8B");
  const EngineProfile profile = engine_profile(Engine::vllm, "0.6.3", 24 * gib);
  const ActivationPeak peak = activation_peak(spec, profile, {}, share_of(spec, {}, 0), 20'000, 2);
  EXPECT_EQ(peak.layers, int64_t{20'000} * 110'592);
  EXPECT_LT(peak.sampler, peak.layers);
}

TEST(EngineActivation, TheSamplerIsThePeakOfTheLastStageAlone) {
  const ModelSpec spec = spec_of("released/meta-llama--Meta-Llama-3.1-8B");
  const EngineProfile profile = engine_profile(Engine::vllm, "0.19.0", 79 * gib);
  const Layout layout{1, 2, 1, 1};
  const auto peak = [&](int rank) {
    return activation_peak(spec, profile, layout, share_of(spec, layout, rank), 8192, 2);
  };
  EXPECT_EQ(peak(0).sampler, 0);
  EXPECT_GT(peak(1).sampler, peak(1).layers);
  EXPECT_EQ(peak(0).layers, peak(1).layers);
}

TEST(EngineWeights, LargeTensorsLieInBlocksOfTwoMebibytes) {
  EXPECT_EQ(allocated_bytes(1), 512);
  EXPECT_EQ(allocated_bytes(9 * mib + 1), 9 * mib + 512);
  EXPECT_EQ(allocated_bytes(31 * mib + mib / 2), 32 * mib);            // half a MiB left: kept
  EXPECT_EQ(allocated_bytes(24 * mib + mib / 2), 24 * mib + mib / 2);  // one and a half: split off
  EXPECT_EQ(allocated_bytes(259 * mib), 260 * mib);
  EXPECT_EQ(allocated_bytes(80 * mib), 80 * mib);
}

TEST(EngineWeights, ATiedTableIsHeldOnceOnARankAndTwiceOverAPipeline) {
  const ModelSpec spec = spec_of("released/Qwen--Qwen3-0.6B");
  const MemoryModel model(spec);
  const EngineProfile profile = engine_profile(Engine::vllm, "0.11.0", 79 * gib);
  const auto weights = [&](const Layout& layout, int rank) {
    return engine_weights(model, profile, layout, rank, 2);
  };
  const int64_t table = spec.vocab * spec.hidden * 2;
  EXPECT_NEAR(static_cast<double>(weights({1, 2, 1, 1}, 0) + weights({1, 2, 1, 1}, 1)),
              static_cast<double>(weights({}, 0) + table), 32.0 * mib);
}

// vLLM 0.10.1 printed 65.97 GiB: experts padded to whole blocks, everything else unquantized.
TEST(EngineWeights, ExpertsAloneAreOfFourBitsAndPadded) {
  ModelSpec spec = spec_of("released/openai--gpt-oss-120b");
  const auto format = retype(spec, "");
  const MemoryModel model(spec, format);
  const EngineProfile profile = engine_profile(Engine::vllm, "0.10.1", 79 * gib);
  EXPECT_NEAR(static_cast<double>(engine_weights(model, profile, {}, 0, 2)) / gib, 65.97, 0.1);
}

TEST(EngineProfile, VersionsDecideWhichOverheadsAreTaken) {
  const auto profile = [](const char* version) {
    return engine_profile(Engine::vllm, version, 79 * gib);
  };
  EXPECT_TRUE(profile("0.6.x").whole_prompts);
  EXPECT_FALSE(profile("0.9.2+").whole_prompts);
  EXPECT_GT(profile("0.16.0").sampler_copies, 2 * profile("v0.17.0").sampler_copies);
  EXPECT_LT(profile("0.11").group, profile("0.19").group);
  EXPECT_FALSE(profile("0.19.1").graphs_inside);
  EXPECT_TRUE(profile("1.0").graphs_inside);
  EXPECT_EQ(profile("").version, "0.19.0");
  EXPECT_EQ(engine_profile(Engine::vllm, "", 24 * gib).batch_tokens, 2048);
  for (const char* junk : {"new", "0", "0.", ".9", "-1.2", "0.x", "99999999999.1"}) {
    EXPECT_THROW(profile(junk), Error) << junk;
  }
  EXPECT_THROW(find_engine("vlm"), Error);
}

// SGLang leaves at least 10 GiB of a large GPU, and more the wider the group.
TEST(EngineMemory, SglangsOwnShareDependsOnGpuAndLayout) {
  const EngineRun large = run_of(Engine::sglang, "h100");
  EXPECT_NEAR(engine_utilization(large, {1, 1, 1, 1}), 1 - 13.0 / 79.19, 0.01);
  EXPECT_LT(engine_utilization(large, {16, 1, 1, 1}), engine_utilization(large, {1, 1, 1, 1}));
  EngineRun given = large;
  given.utilization = 0.7;
  EXPECT_EQ(engine_utilization(given, {16, 1, 1, 1}), 0.7);
  EXPECT_GT(engine_utilization(run_of(Engine::sglang, "rtx4090"), {1, 1, 1, 1}), 0.8);
}

TEST(EngineMemory, TheSmallestStageGovernsTheTokens) {
  const MemoryModel model(spec_of("released/meta-llama--Meta-Llama-3.1-8B"));
  EngineRun run = run_of(Engine::vllm, "h100");
  run.utilization = 0.95;
  const EngineCapacity capacity = engine_capacity(model, run, {1, 2, 1, 1});
  // The first stage has room for 66.5 GiB, the last with its sampler for 65.6.
  EXPECT_NEAR(static_cast<double>(capacity.pool) / gib, 66.54, 0.15);
  EXPECT_NEAR(static_cast<double>(capacity.tokens), 1'075'312, 0.002 * 1'075'312);
}

TEST(EngineMemory, FitHasWhatTheEngineLeavesItsCache) {
  const MemoryModel model(spec_of("released/Qwen--Qwen3-32B"));
  for (const Engine engine : {Engine::vllm, Engine::sglang, Engine::trtllm}) {
    for (const Layout& layout : {Layout{2, 1, 1, 1}, Layout{2, 2, 2, 1}}) {
      FitQuestion question;
      question.layout = layout;
      question.engine = run_of(engine, "h100");
      question.memory_bytes = question.engine->gpu_bytes;
      question.shape.page_tokens = question.engine->profile.page_tokens;
      const FitAnswer answer = fit(model, question);
      ASSERT_TRUE(answer.fits);
      EXPECT_EQ(answer.most_pages * question.shape.page_tokens,
                engine_capacity(model, *question.engine, layout).tokens)
          << to_string(engine) << to_string(layout);
      for (const RankFit& rank : answer.ranks) {
        EXPECT_GE(rank.free, 0);
        EXPECT_LE(rank.memory.charged(), question.memory_bytes);
      }
    }
  }
}

TEST(EngineMemory, SaysWhatHasNoRoomBesideTheBudget) {
  const MemoryModel model(spec_of("released/meta-llama--Meta-Llama-3.1-70B"));
  FitQuestion question;
  question.layout = {4, 1, 1, 1};
  question.engine = run_of(Engine::vllm, "h100", "0.19.0");
  question.memory_bytes = question.engine->gpu_bytes;
  const auto remarks = [&](double utilization) {
    question.utilization = question.engine->utilization = utilization;
    return fit_remarks(model, question, fit(model, question));
  };
  EXPECT_THAT(remarks(0.995), Contains(HasSubstr("beside its budget")));
  EXPECT_THAT(remarks(0.9), Not(Contains(HasSubstr("beside its budget"))));
}

TEST(EngineMemory, SizesThatNobodyCouldBuildDoNotWrap) {
  ModelSpec spec = spec_of("measured/google--gemma-3-12b-it");
  spec.context = int64_t{1} << 40;
  for (LayerSpec& layer : spec.layers) {
    auto& rope = std::get<GqaSpec>(layer.attention).rope;
    rope.kind = RopeKind::linear;
    rope.factor = 1e12;
  }
  const MemoryModel model(spec);
  EngineRun run = run_of(Engine::vllm, "h100");
  run.max_len = int64_t{1} << 40;
  run.batch_tokens = int64_t{1} << 40;
  const EngineCapacity capacity = engine_capacity(model, run, {});
  EXPECT_LT(capacity.pool, 0);
  EXPECT_EQ(capacity.tokens, 0);
}

TEST(EngineMemory, TheNearestLayoutThatFitsIsTheEngines) {
  const MemoryModel model(spec_of("released/meta-llama--Meta-Llama-3.1-70B"));
  FitQuestion question;
  question.engine = run_of(Engine::vllm, "h100");
  question.memory_bytes = question.engine->gpu_bytes;
  EXPECT_FALSE(fit(model, question).fits);
  const auto nearest = nearest_that_fits(model, question);
  ASSERT_TRUE(nearest.has_value());
  EXPECT_GE(nearest->layout.world(), 2);
  question.layout = nearest->layout;
  EXPECT_TRUE(fit(model, question).fits);
}

// Whatever an engine's share is a share of: of a GPU with less memory than the weights take, no
// more is taken than there is.
TEST(EngineMemory, TakesNoMoreThanTheGpuHasWhereTheWeightsAloneExceedIt) {
  const MemoryModel model(spec_of("released/meta-llama--Meta-Llama-3.1-70B"));
  for (const Engine engine : {Engine::vllm, Engine::sglang, Engine::trtllm}) {
    const EngineRun run = run_of(engine, "l40s");
    EXPECT_LE(engine_budget(model, run, {}), run.gpu_bytes) << to_string(engine);
    EXPECT_LT(engine_capacity(model, run, {}).pool, run.gpu_bytes - model.all_weights());
  }
}

}  // namespace
}  // namespace dure
