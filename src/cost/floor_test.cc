#include "cost/floor.h"

#include <gmock/gmock.h>

#include <array>

#include "base/error.h"
#include "base/units.h"
#include "model/presets.h"
#include "model/testing.h"

namespace dure {
namespace {

constexpr int64_t gb = 1'000'000'000;
constexpr std::array memories = {80 * gb, 141 * gb, 180 * gb, 192 * gb};

struct Row {
  const char* size;
  const char* format;
  const char* bytes;
  std::array<int64_t, 4> gpus;  // of 80, 141, 180 and 192 GB
};

// Worked out by hand: parameters × 2, 1 or ½ bytes, divided and rounded up.
constexpr Row grid[] = {
    {"175B", "bf16", "350 GB", {5, 3, 2, 2}},       {"175B", "fp16", "350 GB", {5, 3, 2, 2}},
    {"175B", "fp8", "175 GB", {3, 2, 1, 1}},        {"175B", "fp4", "87.5 GB", {2, 1, 1, 1}},
    {"671B", "bf16", "1.34 TB", {17, 10, 8, 7}},    {"671B", "fp16", "1.34 TB", {17, 10, 8, 7}},
    {"671B", "fp8", "671 GB", {9, 5, 4, 4}},        {"671B", "fp4", "335.5 GB", {5, 3, 2, 2}},
    {"1T", "bf16", "2 TB", {25, 15, 12, 11}},       {"1T", "fp16", "2 TB", {25, 15, 12, 11}},
    {"1T", "fp8", "1 TB", {13, 8, 6, 6}},           {"1T", "fp4", "500 GB", {7, 4, 3, 3}},
    {"1.8T", "bf16", "3.6 TB", {45, 26, 20, 19}},   {"1.8T", "fp16", "3.6 TB", {45, 26, 20, 19}},
    {"1.8T", "fp8", "1.8 TB", {23, 13, 10, 10}},    {"1.8T", "fp4", "900 GB", {12, 7, 5, 5}},
    {"10T", "bf16", "20 TB", {250, 142, 112, 105}}, {"10T", "fp16", "20 TB", {250, 142, 112, 105}},
    {"10T", "fp8", "10 TB", {125, 71, 56, 53}},     {"10T", "fp4", "5 TB", {63, 36, 28, 27}},
};

TEST(Floor, IsParametersTimesBytesOverMemoryRoundedUp) {
  for (const Row& row : grid) {
    for (size_t i = 0; i < memories.size(); ++i) {
      const WeightFloor floor =
          weight_floor(parse_count(row.size, "size"), find_weight_format(row.format), memories[i]);
      EXPECT_EQ(floor.gpus, row.gpus[i]) << row.size << ' ' << row.format << ' ' << memories[i];
      EXPECT_EQ(format_decimal_bytes(floor.weight_bytes), row.bytes) << row.size;
    }
  }
}

TEST(Floor, IsExactWhereItDividesAndOneMoreWhereAByteIsLeft) {
  const WeightFormat fp8 = find_weight_format("fp8");
  EXPECT_EQ(weight_floor(160 * gb, fp8, 80 * gb).gpus, 2);
  EXPECT_EQ(weight_floor(160 * gb + 1, fp8, 80 * gb).gpus, 3);
  EXPECT_EQ(weight_floor(1, fp8, 80 * gb).gpus, 1);
  EXPECT_EQ(weight_floor(3, find_weight_format("fp4"), 1).gpus, 2) << "half a byte is rounded up";
}

TEST(Floor, SaysHowItIsCheckedByHand) {
  const auto text = [](const char* size, const char* format, int64_t memory) {
    return arithmetic_of(
        weight_floor(parse_count(size, "size"), find_weight_format(format), memory));
  };
  EXPECT_EQ(text("1T", "bf16", 80 * gb), "1,000,000,000,000 × 2 bytes = 2 TB; ÷ 80 GB = 25");
  EXPECT_EQ(text("1T", "bf16", 141 * gb), "1,000,000,000,000 × 2 bytes = 2 TB; ÷ 141 GB = 14.18");
  EXPECT_EQ(text("1.8T", "fp4", 192 * gb),
            "1,800,000,000,000 × 0.5 bytes = 900 GB; ÷ 192 GB = 4.69");
  EXPECT_EQ(text("1T", "fp8", 80 * gb), "1,000,000,000,000 × 1 byte = 1 TB; ÷ 80 GB = 12.5");
  EXPECT_EQ(text("160000000001", "fp8", 80 * gb),
            "160,000,000,001 × 1 byte = 160 GB; ÷ 80 GB = a little above 2");
}

TEST(Floor, RefusesMoreBytesThanCanBeCounted) {
  const Error error = testing::error_of(
      [] { weight_floor(int64_t{1} << 61, find_weight_format("bf16"), 80 * gb); });
  EXPECT_EQ(error.code(), ErrorCode::bad_input);
}

FitQuestion question_of_80_gb() {
  FitQuestion question;
  question.memory_bytes = 80 * gb;
  question.utilization = 1.0;
  question.shape.overhead = 0;
  question.context = 1000;
  return question;
}

// Llama 3.1 8B: 16,060,522,496 bytes of weights; a token takes 32 layers × 2 × 8 heads × 128 × 2
// bytes = 131,072, a page of 16 tokens 2,097,152, a sequence of 1,000 tokens 63 pages.
TEST(Floor, LeavesForTheCacheWhatWeightsDoNotTake) {
  const MemoryModel model(spec_of(*find_preset("llama-3.1-8b")));
  const AtBest one = at_best(model, question_of_80_gb(), 1);
  EXPECT_EQ(one.free_after_weights, 63'939'477'504);
  EXPECT_EQ(one.kv_tokens, 30'488 * 16);
  EXPECT_EQ(one.sequences, 483);
  EXPECT_EQ(one.context, 1000);
  FitQuestion question = question_of_80_gb();
  question.shape.overhead = gb;
  question.utilization = 0.5;
  EXPECT_EQ(at_best(model, question, 3).free_after_weights, 3 * 39 * gb - 16'060'522'496);
}

TEST(Floor, LeavesNothingWhereNotEvenTheWeightsFit) {
  const MemoryModel model(spec_of(*find_preset("llama-3.1-70b")));
  const AtBest one = at_best(model, question_of_80_gb(), 1);
  EXPECT_EQ(one.free_after_weights, 80 * gb - 2 * int64_t{70'553'706'496});
  EXPECT_EQ(one.kv_tokens, 0);
  EXPECT_EQ(one.sequences, 0);
  FitQuestion full_of_overhead = question_of_80_gb();
  full_of_overhead.shape.overhead = 100 * gb;
  EXPECT_EQ(at_best(model, full_of_overhead, 10).usable_bytes, 0);
}

// vLLM's share is of all of the GPU, SGLang's of what is free before loading, TensorRT-LLM's of
// what the weights leave.
TEST(Floor, SharesMemoryOutAsTheEngineDoes) {
  const MemoryModel model(spec_of(*find_preset("llama-3.1-8b")));
  const auto of = [&](Budget budget) {
    FitQuestion question = question_of_80_gb();
    question.utilization = 0.5;
    question.shape.overhead = gb;
    question.engine = EngineRun{};
    question.engine->profile.budget = budget;
    return at_best(model, question, 1);
  };
  EXPECT_EQ(of(Budget::of_total).usable_bytes, 39 * gb);
  EXPECT_EQ(of(Budget::of_free_at_start).usable_bytes, 79 * gb / 2);
  const AtBest rest = of(Budget::of_what_is_left);
  EXPECT_EQ(rest.usable_bytes, 79 * gb);
  EXPECT_EQ(rest.free_after_weights, 62'939'477'504);
  EXPECT_EQ(rest.kv_tokens, 15'005 * 16);  // 31,469,738,752 bytes of pages of 2,097,152
}

// No layout of as many ranks holds more than the even division.
TEST(Floor, PromisesAtLeastWhatAnyLayoutHolds) {
  for (const char* name : {"qwen3-30b-a3b", "deepseek-v3", "gpt-oss-120b", "qwen3.5-35b-a3b"}) {
    const MemoryModel model(spec_of(*find_preset(name)), find_weight_format("fp8"));
    for (const Layout& layout : {Layout{.tp = 8}, Layout{.dp = 8, .ep = 8}, Layout{.pp = 8},
                                 Layout{.tp = 2, .pp = 2, .dp = 2}}) {
      FitQuestion question = question_of_80_gb();
      question.memory_bytes = 200 * gb;
      question.layout = layout;
      question.shape.windows_apart = true;
      const FitAnswer answer = fit(model, question);
      EXPECT_LE(answer.most_sequences, at_best(model, question, 8).sequences)
          << name << ' ' << to_string(layout);
    }
  }
}

}  // namespace
}  // namespace dure
