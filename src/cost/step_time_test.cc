#include "cost/step_time.h"

#include <gtest/gtest.h>

#include "model/load_spec.h"
#include "model/testing.h"

namespace dure {
namespace {

ModelSpec released(const std::string& name) {
  return load_spec(testing::source_path("testdata/configs/released") / (name + ".json"));
}

Hardware h200() {
  return {*find_gpu("h200").speed, 8, 50e9};
}

StepLoad decodes(double sequences, double keys_each) {
  StepLoad load;
  load.decodes = sequences;
  load.decode_keys = sequences * keys_each;
  return load;
}

// 70.55e9 parameters less embedding and head of 128256 x 8192 each, over 8 ranks.
TEST(StepWork, CountsWhatOneOfEightRanksReads) {
  const StepWork work =
      work_of(released("meta-llama--Meta-Llama-3.1-70B"), {8, 1, 1, 1}, Numbers{});
  ASSERT_EQ(work.kinds.size(), 1);
  EXPECT_EQ(work.kinds[0].layers, 80);
  const double matrices = 80 * (work.kinds[0].attention.bytes + work.kinds[0].dense.bytes);
  EXPECT_NEAR(matrices * 8, 2 * (70.5537e9 - 2 * 128256.0 * 8192), 2e7);  // norms are not matrices
  EXPECT_EQ(work.head.bytes * 8, 2.0 * 128256 * 8192);
  EXPECT_EQ(work.kinds[0].cache_bytes, 2.0 * 128 * 2);  // one of 8 heads, k and v, bf16
}

TEST(StepWork, HoldsALatentVectorOnEveryRank) {
  const ModelSpec spec = released("deepseek-ai--DeepSeek-V3");
  for (const int tp : {1, 8}) {
    const StepWork work = work_of(spec, {tp, 1, 1, tp}, Numbers{});
    EXPECT_EQ(work.kinds.back().cache_bytes, 2.0 * (512 + 64)) << tp;
    EXPECT_EQ(work.kinds.back().experts_held, 256 / tp);
  }
}

// 61 layers over 8 stages are 8 of the first five and 7 of the others: the first has 3 dense
// layers, and the last the head.
TEST(StepWork, IsThatOfTheStageThatAllOthersWaitFor) {
  const ModelSpec spec = released("deepseek-ai--DeepSeek-V3");
  const WorkModel model(spec);
  const StepWork whole = model.of({8, 1, 1, 8}, Numbers{});
  const StepWork stage = model.of({8, 8, 1, 8}, Numbers{});
  ASSERT_EQ(whole.kinds.size(), 2);
  ASSERT_EQ(stage.kinds.size(), 1);
  EXPECT_EQ(stage.stage, 1);
  EXPECT_EQ(stage.kinds[0].layers, 8);
  EXPECT_EQ(stage.head.bytes, 0.0);
  EXPECT_EQ(stage.kinds[0].attention.bytes, whole.kinds[1].attention.bytes);
  EXPECT_EQ(stage.kinds[0].expert.bytes, whole.kinds[1].expert.bytes);
}

// 61 layers over 4 stages are 16, 15, 15 and 15. The last has a head of 2.1 GB, more than a layer's
// 1.7 GB; with a vocabulary of 32,000 the head is 0.5 GB, and the first stage is slowest.
TEST(StepWork, CountsUnevenStagesByTheSlowest) {
  ModelSpec spec = released("meta-llama--Meta-Llama-3.1-70B");
  spec.layers.resize(61, spec.layers[0]);
  const StepWork large_head = WorkModel(spec).of({1, 4, 1, 1}, Numbers{});
  EXPECT_EQ(large_head.stage, 3);
  EXPECT_EQ(large_head.kinds[0].layers, 15);
  EXPECT_GT(large_head.head.bytes, 0.0);
  spec.vocab = 32000;
  const StepWork uneven = WorkModel(spec).of({1, 4, 1, 1}, Numbers{});
  EXPECT_EQ(uneven.stage, 0);
  EXPECT_EQ(uneven.kinds[0].layers, 16);
  EXPECT_EQ(uneven.head.bytes, 0.0);
  spec.layers.resize(60);
  const StepWork even = WorkModel(spec).of({1, 4, 1, 1}, Numbers{});
  EXPECT_EQ(even.stage, 3);
  StepLoad load;
  load.decodes = 64;
  load.decode_keys = 64 * 1000;
  const Hardware hardware{find_gpu("h200").speed.value(), 8, 50e9};
  EXPECT_GT(step_time(uneven, hardware, TimeConstants{}, load).total(),
            step_time(even, hardware, TimeConstants{}, load).total());
}

// One sequence: every weight is read once, and little else takes time.
TEST(StepTime, IsAtLeastTheTimeToReadTheWeights) {
  const Hardware hardware = h200();
  const StepWork work = work_of(released("meta-llama--Meta-Llama-3.1-8B"), {1, 1, 1, 1}, Numbers{});
  const double floor = 2.0 * (8.03e9 - 128256.0 * 4096) / hardware.gpu.memory;
  const StepTime time = step_time(work, hardware, TimeConstants{}, decodes(1, 100));
  EXPECT_GT(time.total(), floor / 0.76);
  EXPECT_LT(time.total(), floor / 0.74 + 32 * 20e-6 + 1e-3);
  EXPECT_EQ(time.bound(), Bound::memory);
}

// Cut experts cost every rank the rows of all tokens' choices, whole ones only its own.
TEST(StepTime, OfManyDecodesIsShorterWithWholeExperts) {
  const Hardware hardware = h200();
  const ModelSpec spec = released("deepseek-ai--DeepSeek-V3");
  const auto experts = [&](int ep) {
    const StepTime time = step_time(work_of(spec, {1, 1, 8, ep}, Numbers{}), hardware,
                                    TimeConstants{}, decodes(128, 1000));
    return time.of(Operation::experts);
  };
  EXPECT_LT(experts(8), experts(1));
}

TEST(StepTime, OfALongPromptIsBoundByOperations) {
  const Hardware hardware = h200();
  const ModelSpec spec = released("meta-llama--Meta-Llama-3.1-8B");
  StepLoad load;
  load.prefill_tokens = 8192;
  load.prefill_pairs = 8192.0 * 4096;
  load.prompts = load.prompts_done = 1;
  const StepTime time =
      step_time(work_of(spec, {1, 1, 1, 1}, Numbers{}), hardware, TimeConstants{}, load);
  EXPECT_EQ(time.bound(), Bound::compute);
  // 2 operations for each parameter and token, at 0.6 of the peak.
  EXPECT_GT(time.total(), 8192 * 2 * 6.98e9 / (hardware.gpu.bf16 * 0.6));
}

TEST(StepTime, SumsTheSameSecondsByOperationAndByBound) {
  StepLoad load = decodes(64, 2000);
  load.prefill_tokens = 1000;
  load.prefill_pairs = 500000;
  load.prompts = 2;
  load.prompts_done = 1;
  for (const Layout layout : {Layout{8, 1, 1, 8}, Layout{1, 1, 8, 8}, Layout{8, 2, 2, 16}}) {
    const StepTime time = step_time(work_of(released("deepseek-ai--DeepSeek-V3"), layout, {}),
                                    h200(), TimeConstants{}, load);
    double by_bound = 0.0;
    for (const double seconds : time.by_bound) by_bound += seconds;
    EXPECT_NEAR(by_bound, time.total(), 1e-12) << to_string(layout);
    EXPECT_GT(time.of(Operation::experts), 0.0);
    EXPECT_EQ(time.of(Operation::stage_exchange) > 0.0, layout.pp > 1);
  }
}

TEST(StepTime, PaysForSumsThatCrossNodes) {
  const ModelSpec spec = released("meta-llama--Meta-Llama-3.1-405B");
  const auto sums = [&](int tp, int gpus_per_node) {
    Hardware hardware = h200();
    hardware.gpus_per_node = gpus_per_node;
    return step_time(work_of(spec, {tp, 1, 1, 1}, {}), hardware, TimeConstants{}, decodes(64, 1000))
        .of(Operation::tensor_exchange);
  };
  EXPECT_EQ(sums(1, 8), 0.0);
  EXPECT_GT(sums(16, 8), 2 * sums(8, 8));
  EXPECT_GT(sums(16, 8), sums(16, 16));
}

TEST(StepTime, OfStagesIsARoundOfAllMicroBatches) {
  const ModelSpec spec = released("meta-llama--Meta-Llama-3.1-70B");
  const auto total = [&](int pp, double sequences) {
    return step_time(work_of(spec, {1, pp, 1, 1}, {}), h200(), TimeConstants{},
                     decodes(sequences, 1000))
        .total();
  };
  // One sequence visits all stages in turn; nothing is gained.
  EXPECT_GE(total(4, 1), total(1, 1));
  // A round of four micro-batches takes as long as one of them would take on all stages.
  EXPECT_GE(total(4, 64), total(1, 16));
  EXPECT_LT(total(4, 64), total(1, 64));
}

TEST(StepTime, OfNothingIsNothing) {
  EXPECT_EQ(step_time(work_of(released("meta-llama--Meta-Llama-3.1-8B"), {}, {}), h200(),
                      TimeConstants{}, StepLoad{})
                .total(),
            0.0);
}

}  // namespace
}  // namespace dure
