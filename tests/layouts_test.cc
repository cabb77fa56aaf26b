// Any layout gives the same bits: one hash of all logits for every split, batch composition and
// chunking; and where a layout only promises tokens, the tokens.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cluster/this_machine.h"
#include "cost/shard.h"
#include "model/load_spec.h"
#include "verify/verify.h"

namespace dure {
namespace {

namespace fs = std::filesystem;

struct Variant {
  Layout layout;
  int batch = 1;
  int chunk = 0;
  Compute compute = Compute::bf16;
  std::optional<DType> kv = std::nullopt;  // else of the same name as compute
  CodeFormat quantize = CodeFormat::none;
};

DType kv_of(const Variant& variant) {
  return variant.kv.value_or(variant.compute == Compute::fp32 ? DType::f32 : DType::bf16);
}

std::string name_of(const Variant& variant) {
  return fmt::format("{}, batch {}, chunk {}, {}, cache {}, quantize {}", to_string(variant.layout),
                     variant.batch, variant.chunk, to_string(variant.compute),
                     to_string(kv_of(variant)), to_string(variant.quantize));
}

VerifyResult run(const std::string& model, const Variant& variant) {
  VerifyOptions options;
  StartGroup& start = options.group.start;
  start.model = (fs::path(DURE_SOURCE_DIR) / "testdata/models" / model).string();
  start.layout = variant.layout;
  start.compute = variant.compute;
  start.kv_dtype = kv_of(variant);
  start.quantize = variant.quantize;
  start.threads = default_threads(variant.layout.world());
  options.batch = variant.batch;
  options.chunk = variant.chunk;
  return verify(options);
}

class Layouts : public testing::TestWithParam<std::string> {};

TEST_P(Layouts, GiveTheSameBitsAsOneRank) {
  const ModelSpec spec = load_spec(fs::path(DURE_SOURCE_DIR) / "testdata/models" / GetParam());
  const std::string alone = run(GetParam(), {}).logits_hash;
  const std::vector<Variant> variants = {
      {{.tp = 2}},
      {{.tp = 4}},
      {{.tp = 8}},
      {{.pp = 2}},
      {{.pp = 3}},
      {{.dp = 2}, 3},
      {{.tp = 2, .ep = 2}},
      {{.tp = 4, .ep = 2}},
      {{.tp = 4, .ep = 4}, 3, 16},
      {{.dp = 2, .ep = 2}, 17},
      {{.tp = 2, .pp = 2}, 1, 7},
      {{.tp = 2, .pp = 2, .ep = 2}, 17, 13},
      {{.tp = 2, .pp = 2, .dp = 2, .ep = 4}, 3},
      {{.dp = 3, .ep = 3}, 3},  // 10 experts: 4 3 3
      {{.dp = 4, .ep = 4}, 17, 32},
      {{.tp = 2, .dp = 4, .ep = 4}, 5, 50},
      {{}, 3},
      {{}, 17, 16},
      {{}, 1, 1},
  };
  for (const Variant& variant : variants) {
    ASSERT_TRUE(keeps_the_same_bits(spec, variant.layout)) << name_of(variant);
    const VerifyResult result = run(GetParam(), variant);
    EXPECT_EQ(result.logits_hash, alone) << name_of(variant);
    EXPECT_TRUE(result.passed) << name_of(variant);
  }
}

TEST_P(Layouts, ThatCutSubtreesStillAnswerAsRecorded) {
  for (const Variant& variant : std::vector<Variant>{{{.tp = 3}},
                                                     {{.tp = 5, .ep = 5}, 1, 0, Compute::fp32},
                                                     {{.tp = 3, .pp = 2, .ep = 3}, 3},
                                                     {{.dp = 3}, 3}}) {
    EXPECT_TRUE(run(GetParam(), variant).passed) << name_of(variant);
  }
}

// A cache of fp8, of keys and values and of latent rows.
class Fp8Layouts : public testing::TestWithParam<std::string> {};

TEST_P(Fp8Layouts, GiveTheSameBitsWithinTheBoundOfTheFormat) {
  const auto with = [&](Variant variant) {
    variant.kv = DType::fp8;
    return run(GetParam(), variant);
  };
  const VerifyResult alone = with({});
  EXPECT_TRUE(alone.passed);
  EXPECT_NE(alone.logits_hash, run(GetParam(), {}).logits_hash);
  for (const Variant& variant : std::vector<Variant>{
           {{.tp = 2}, 3}, {{.pp = 2}, 17, 13}, {{.dp = 2}, 3, 7}, {{.tp = 2, .pp = 2}, 1, 1}}) {
    const VerifyResult result = with(variant);
    EXPECT_EQ(result.logits_hash, alone.logits_hash) << name_of(variant);
  }
  const VerifyResult exact = with({{}, 1, 0, Compute::fp32});
  EXPECT_TRUE(exact.passed);
  EXPECT_GT(exact.max_abs_logit_error, 1e-3);  // fp32's own errors are below
}

INSTANTIATE_TEST_SUITE_P(OfFamilies, Fp8Layouts, testing::Values("qwen3-moe", "deepseek-v2-lite"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Matrices made integer codes while loading: groups are cut where ranks are, and inputs become the
// same integers in any batch.
class QuantizedLayouts : public testing::TestWithParam<std::string> {};

TEST_P(QuantizedLayouts, GiveTheSameBitsWithinTheBoundOfTheFormat) {
  for (const CodeFormat format : {CodeFormat::q8, CodeFormat::q4}) {
    const auto with = [&](Variant variant) {
      variant.quantize = format;
      return run(GetParam(), variant);
    };
    const VerifyResult alone = with({});
    EXPECT_TRUE(alone.passed) << to_string(format);
    EXPECT_NE(alone.logits_hash, run(GetParam(), {}).logits_hash);
    for (const Variant& variant : std::vector<Variant>{{{.tp = 2}},
                                                       {{.tp = 4}, 3},
                                                       {{.tp = 8}, 3, 16},
                                                       {{.pp = 2}, 17, 13},
                                                       {{.dp = 2}, 3, 7},
                                                       {{.tp = 2, .pp = 2, .ep = 2}, 1, 1},
                                                       {{.tp = 4, .ep = 4}, 5, 50},
                                                       {{}, 17, 16},
                                                       {{}, 1, 1}}) {
      EXPECT_EQ(with(variant).logits_hash, alone.logits_hash) << name_of(variant);
    }
    EXPECT_TRUE(with({{.tp = 3}}).passed) << to_string(format);
    const VerifyResult exact = with({{}, 1, 0, Compute::fp32});
    EXPECT_TRUE(exact.passed) << to_string(format);
    EXPECT_NE(exact.logits_hash, run(GetParam(), {.compute = Compute::fp32}).logits_hash);
    // Nothing is compared where every position takes other experts.
    const bool compared = std::any_of(exact.prompts.begin(), exact.prompts.end(),
                                      [](const auto& each) { return each.positions_compared > 0; });
    if (compared) EXPECT_GT(exact.max_abs_logit_error, 1e-3);  // the codes' own
  }
}

// Also where heads do not divide ranks, experts are shared, attention is latent, a state is kept.
INSTANTIATE_TEST_SUITE_P(OfFamilies, QuantizedLayouts,
                         testing::Values("qwen3-moe", "llama-untied", "qwen2-moe",
                                         "deepseek-v2-lite", "qwen3-next"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// A state is a sequence's alone and is the same whatever steps made it: prompts follow each other
// in one slot, beside neighbours that start over, in chunks of any size.
class StateLayouts : public testing::TestWithParam<std::string> {};

TEST_P(StateLayouts, GiveTheSameBitsInAnyChunksAndBatches) {
  const VerifyResult alone = run(GetParam(), {.compute = Compute::fp32});
  EXPECT_TRUE(alone.passed);
  for (Variant variant : std::vector<Variant>{{{}, 1, 1},
                                              {{}, 3, 7},
                                              {{}, 17, 16},
                                              {{.tp = 2}, 3, 2},
                                              {{.pp = 2}, 5, 13},
                                              {{.dp = 2}, 3, 5},
                                              {{.tp = 4, .ep = 4}, 4, 3},
                                              {{.tp = 8, .ep = 2}, 3, 5},  // more than heads
                                              {{.tp = 2, .dp = 2, .ep = 2}, 3, 16}}) {
    variant.compute = Compute::fp32;
    EXPECT_EQ(run(GetParam(), variant).logits_hash, alone.logits_hash) << name_of(variant);
  }
  for (const int tp : {3, 5, 7}) {
    EXPECT_TRUE(run(GetParam(), {{.tp = tp}, 3, 7, Compute::fp32}).passed) << "tp " << tp;
  }
}

// Two value heads to each key head, three to each key head, decays of each channel, Mamba-2 in
// groups that four ranks split.
INSTANTIATE_TEST_SUITE_P(OfFamilies, StateLayouts,
                         testing::Values("qwen3-next", "qwen3-5-moe-text", "kimi-linear",
                                         "nemotron-h"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// 6 heads on 3 kv heads, untied, a prime vocabulary; 12 experts; whole-row norms of q and k, 16
// experts; a gated shared expert, dense layers between, biases; 7 heads on one kv head.
INSTANTIATE_TEST_SUITE_P(OfFamilies, Layouts,
                         testing::Values("llama-untied", "qwen3-moe", "olmoe", "qwen2-moe",
                                         "qwen2"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace dure
