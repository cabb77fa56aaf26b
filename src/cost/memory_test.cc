#include "cost/memory.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/error.h"
#include "cost/check_fits.h"
#include "cost/fit.h"
#include "cost/resident.h"
#include "cost/step_buffers.h"
#include "model/load_spec.h"

namespace dure {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

ModelSpec spec_of(const std::string& path) {
  return load_spec(std::filesystem::path(DURE_SOURCE_DIR) / "testdata" / path);
}

constexpr int64_t gib = int64_t{1} << 30;

// 30 of 40 layers keep a state of 128 by 128 for each of 32 heads, and three inputs of 8192
// channels; the others cache two heads of 256.
TEST(Memory, CountsTheStatesOfRecurrentLayers) {
  const ModelSpec spec = spec_of("configs/released/Qwen--Qwen3.5-35B-A3B.json");
  const RankShare share = share_of(spec, {}, 0);
  EXPECT_EQ(state_bytes(spec, {}, share), 30 * 4 * (32 * 128 * 128 + 3 * 8192));
  EXPECT_EQ(kv_bytes_per_token(spec, DType::bf16), 10 * 2 * 2 * 256 * 2);
}

// Each compressed key of 512 stands for 4 tokens, with an index key of 128, or for 128.
TEST(Memory, CountsCompressedKeysByTheTokensTheyStandFor) {
  const ModelSpec spec = spec_of("configs/released/deepseek-ai--DeepSeek-V4-Pro.json");
  const int64_t bytes = kv_bytes_per_token(spec, DType::bf16);
  EXPECT_EQ(bytes, 30 * 2 * (640 / 4) + 31 * 2 * (512 / 128));
  EXPECT_LE(6 * bytes, 61 * 2048);
}

// 61 layers over 4 stages: one has a layer more, and holds that layer's weights and cache more.
TEST(Memory, CountsEachOfUnevenStagesAsItIs) {
  ModelSpec spec = spec_of("configs/released/meta-llama--Meta-Llama-3.1-70B.json");
  spec.layers.resize(61, spec.layers[0]);
  const MemoryModel model(spec);
  const Layout layout{.pp = 4};
  int64_t layers = 0;
  int64_t weights = 0;
  for (int rank = 0; rank < 4; ++rank) {
    layers += share_of(spec, layout, rank).layers.size();
    weights += model.of(layout, rank, {}).weights;
  }
  EXPECT_EQ(layers, 61);
  EXPECT_EQ(weights, model.of({}, 0, {}).weights);
  RunShape shape;
  shape.pages = 100;
  const RankMemory first = model.of(layout, 0, shape);
  const RankMemory second = model.of(layout, 1, shape);
  EXPECT_EQ(first.kv * 15, second.kv * 16);
  EXPECT_EQ(first.weights - 2 * spec.vocab * spec.hidden, second.weights / 15 * 16);
}

TEST(Memory, TheFastCountIsTheLoadersListToTheByte) {
  const char* const models[] = {"models/llama",
                                "models/llama-untied",
                                "models/llama-bias-f16",
                                "models/mistral",
                                "models/qwen2-moe",
                                "models/qwen3-yarn-f32",
                                "models/qwen3-moe",
                                "models/olmoe",
                                "configs/families/qwen3-next.json",
                                "configs/families/kimi-linear.json",
                                "configs/families/nemotron-h.json",
                                "configs/families/gemma4-moe-text.json",
                                "configs/families/deepseek-v4.json"};
  for (const char* name : models) {
    const ModelSpec spec = spec_of(name);
    const std::vector<Weight> weights = inventory(spec);
    const MemoryModel model(spec);
    for (const Layout& layout : {Layout{1, 1, 1, 1}, Layout{2, 2, 1, 2}, Layout{3, 1, 2, 2},
                                 Layout{4, 2, 2, 4}, Layout{8, 1, 1, 1}}) {
      for (const Arithmetic& each :
           {Arithmetic(Compute::bf16), Arithmetic(Compute::fp32),
            Arithmetic(Compute::bf16, CodeFormat::q8), Arithmetic(Compute::fp32, CodeFormat::q4)}) {
        RunShape shape;
        shape.compute = each.compute;
        shape.quantize = each.quantize;
        shape.pages = 7;
        for (int rank = 0; rank < layout.world(); ++rank) {
          const RankMemory fast = model.of(layout, rank, shape);
          const RankMemory slow = rank_memory(weights, spec, layout, rank, shape);
          ASSERT_EQ(fast.weights, slow.weights) << name << ' ' << to_string(layout);
          ASSERT_EQ(fast.padding, slow.padding) << name << ' ' << to_string(layout);
          ASSERT_EQ(fast.total(), slow.total()) << name << ' ' << to_string(layout);
        }
      }
    }
  }
}

std::vector<Weight> with_type_of_one_expert(std::vector<Weight> weights, int layer, int expert,
                                            DType type) {
  for (Weight& weight : weights) {
    if (weight.layer == layer && weight.expert == expert) weight.dtype = type;
  }
  return weights;
}

// The kernels read a layer's experts in one call.
TEST(Memory, ExpertsOfALayerAreHeldInOneTypeOnEveryRank) {
  const ModelSpec spec = spec_of("models/mixtral");
  const int last = static_cast<int>(std::get<MoeFfn>(spec.layers[1].ffn).experts) - 1;
  const std::vector<Weight> mixed = with_type_of_one_expert(inventory(spec), 1, last, DType::f32);
  for (const Layout& layout : {Layout{1, 1, 1, 1}, Layout{2, 1, 1, 2}, Layout{2, 1, 2, 1}}) {
    for (int rank = 0; rank < layout.world(); ++rank) {
      const RankShare share = share_of(spec, layout, rank);
      int experts = 0;
      for (const Compute compute : {Compute::bf16, Compute::fp32}) {
        for (const Resident& each : resident_weights(mixed, spec, layout, share, compute)) {
          if (each.expert < 0) continue;
          const bool wide = each.layer == 1 && compute == Compute::fp32;
          EXPECT_EQ(each.shape.dtype, wide ? DType::f32 : DType::bf16) << to_string(layout);
          ++experts;
        }
      }
      EXPECT_GT(experts, 0);
    }
  }
}

TEST(Memory, BothSixteenBitTypesMeetInTheOneThatHoldsThemExactly) {
  const ModelSpec spec = spec_of("models/mixtral");
  const std::vector<Weight> mixed = with_type_of_one_expert(inventory(spec), 0, 0, DType::f16);
  for (const Resident& each :
       resident_weights(mixed, spec, {}, share_of(spec, {}, 0), Compute::fp32)) {
    if (each.expert < 0) continue;
    EXPECT_EQ(each.shape.dtype, each.layer == 0 ? DType::f32 : DType::bf16);
  }
}

TEST(Memory, OneRankHoldsTheWholeModel) {
  const ModelSpec spec = spec_of("configs/released/Qwen--Qwen3-8B.json");
  const MemoryModel model(spec);
  const RankMemory memory = model.of({}, 0, {});
  int64_t vectors = 0;  // kept in fp32: twice their stored bytes
  for (const Weight& weight : inventory(spec)) {
    if (!weight.is_matrix()) vectors += weight.bytes();
  }
  EXPECT_EQ(memory.weights, model.all_weights() + vectors);
  EXPECT_EQ(model.all_weights(), 2 * total_parameters(spec));
}

TEST(Memory, TheTiedEmbeddingStandsTwiceWhereItIsReadTwice) {
  const ModelSpec spec = spec_of("models/llama");
  ASSERT_TRUE(spec.tied_embeddings);
  const std::vector<Weight> weights = inventory(spec);
  const auto slots = [&](int rank) {
    std::vector<Slot> all;
    const Layout layout{1, 2, 1, 1};
    for (const Resident& each :
         resident_weights(weights, spec, layout, share_of(spec, layout, rank), Compute::bf16)) {
      all.push_back(each.slot);
    }
    return all;
  };
  EXPECT_THAT(slots(0), Contains(Slot::embedding));
  EXPECT_THAT(slots(0), Not(Contains(Slot::head)));
  EXPECT_THAT(slots(1), Contains(Slot::head));
  EXPECT_THAT(slots(1), Not(Contains(Slot::embedding)));
}

TEST(Memory, CacheBytesFollowHeadsOfTheRankLayersOfTheStageAndPages) {
  const ModelSpec spec = spec_of("configs/field-cases/moe30-fp8");  // 48 layers, 4 kv heads of 128
  EXPECT_EQ(kv_bytes_per_token(spec, DType::bf16), 48 * 2 * 4 * 128 * 2);
  EXPECT_EQ(kv_bytes_per_token(spec, DType::f32), 48 * 2 * 4 * 128 * 4);
  const Layout layout{8, 2, 1, 1};
  RunShape shape;
  for (int rank = 0; rank < layout.world(); ++rank) {
    EXPECT_EQ(kv_page_bytes(spec, layout, share_of(spec, layout, rank), shape),
              24 * 2 * 1 * 128 * 2 * shape.page_tokens);
  }
}

// One latent vector has no heads to divide: every rank holds all of it.
TEST(Memory, LatentCachesAreWholeOnEveryRankWhateverTp) {
  const ModelSpec v3 = spec_of("configs/released/deepseek-ai--DeepSeek-V3.json");
  const ModelSpec v4 = spec_of("configs/released/deepseek-ai--DeepSeek-V4-Pro.json");
  for (const int tp : {1, 2, 8}) {
    const Layout layout{tp, 1, 1, 1};
    EXPECT_NO_THROW(check_layout_for(v3, layout));
    EXPECT_NO_THROW(check_layout_for(v4, layout));
    for (int rank = 0; rank < tp; ++rank) {
      RunShape shape;
      shape.page_tokens = 1;
      EXPECT_EQ(kv_page_bytes(v3, layout, share_of(v3, layout, rank), shape), 70'272);
      EXPECT_EQ(kv_page_bytes(v4, layout, share_of(v4, layout, rank), shape),
                kv_bytes_per_token(v4, DType::bf16));
      shape.kv_element_bytes = 1;  // fp8
      EXPECT_EQ(kv_page_bytes(v3, layout, share_of(v3, layout, rank), shape), 35'136);
    }
  }
}

// 18 of 36 layers see 128 tokens: each of those costs 73,728 bytes, each later one 36,864.
TEST(Memory, FreedWindowsCostNoMoreThanTheWindow) {
  const ModelSpec spec = spec_of("configs/released/openai--gpt-oss-120b.json");
  const RankShare share = share_of(spec, {}, 0);
  RunShape shape;
  shape.windows_apart = true;
  const auto bytes = [&](int64_t tokens) {
    shape.context = tokens;
    return sequence_bytes(spec, {}, share, shape);
  };
  for (int64_t tokens = 16; tokens < 1024; tokens += 16) {
    EXPECT_EQ(bytes(tokens + 16) - bytes(tokens), 16 * (tokens < 128 ? 73'728 : 36'864)) << tokens;
  }
  EXPECT_EQ(bytes(1), bytes(16));
  for (const int64_t tokens : {128, 144, 131'072}) {
    shape.context = tokens;
    EXPECT_EQ(window_bytes(spec, {}, share, shape), 9 * gib / 2048);  // 4.5 MiB
  }
  shape.windows_apart = false;  // all layers share pages, half of them in each
  EXPECT_EQ(window_bytes(spec, {}, share, shape), 0);
  EXPECT_EQ(kv_page_bytes(spec, {}, share, shape), 16 * 36'864);
  EXPECT_EQ(bytes(1024), 2 * 1024 * int64_t{36'864});
  // The window before a step's 2,048 tokens, and those, over blocks that begin anywhere.
  EXPECT_EQ(bytes(131'072), (131'072 + 137 * 16) * int64_t{36'864});
}

TEST(Memory, WindowedSequencesKeepTheWindowAndTheChunk) {
  const ModelSpec windowed = spec_of("configs/field-cases/sliding-some");
  const auto tokens = windowed_tokens_per_sequence(windowed, 16384, 8192, 16);
  ASSERT_TRUE(tokens.has_value());
  EXPECT_EQ(*tokens, 12304);
  EXPECT_NEAR(2198512.0 / static_cast<double>(*tokens), 178.7, 0.05);
  // A short context never fills the window.
  EXPECT_EQ(windowed_tokens_per_sequence(windowed, 100, 8192, 16), 112 + 16);
  EXPECT_FALSE(windowed_tokens_per_sequence(spec_of("models/llama"), 16384, 8192, 16).has_value());
}

TEST(StepBuffers, AreAllNamedAndNeverNegative) {
  const ModelSpec spec = spec_of("models/qwen3-moe");
  const Layout layout{2, 1, 2, 4};
  for (int rank = 0; rank < layout.world(); ++rank) {
    const auto buffers = step_buffers(spec, layout, share_of(spec, layout, rank), 64, 1000);
    EXPECT_EQ(buffers.size(), static_cast<size_t>(step_buffer_count));
    for (const StepBufferSize& each : buffers) {
      EXPECT_GE(each.bytes, 0);
      EXPECT_NE(to_string(each.buffer), "?");
    }
  }
}

// ---- fit

FitQuestion ask(const Layout& layout, int64_t memory) {
  FitQuestion question;
  question.layout = layout;
  question.memory_bytes = memory;
  question.shape.max_batch_tokens = 512;
  return question;
}

TEST(Fit, GivesAllThatIsLeftToTheCache) {
  const MemoryModel model(spec_of("configs/released/meta-llama--Meta-Llama-3.1-8B.json"));
  const FitQuestion question = ask({2, 1, 1, 1}, 24 * gib);
  const FitAnswer answer = fit(model, question);
  ASSERT_TRUE(answer.fits);
  const int64_t page = kv_page_bytes(model.spec(), answer.layout,
                                     share_of(model.spec(), answer.layout, 0), question.shape);
  for (const RankFit& rank : answer.ranks) {
    EXPECT_GE(rank.free, 0);
    EXPECT_LT(rank.free, page);
    EXPECT_EQ(rank.memory.total() + rank.free, question.budget());
  }
}

TEST(Fit, SaysNoToOnePageMoreThanThereIsRoomFor) {
  const MemoryModel model(spec_of("configs/released/meta-llama--Meta-Llama-3.1-8B.json"));
  FitQuestion question = ask({2, 1, 1, 1}, 24 * gib);
  const int64_t most = fit(model, question).most_pages;
  question.context = most * question.shape.page_tokens;
  EXPECT_TRUE(fit(model, question).fits);
  question.context += 1;
  const FitAnswer answer = fit(model, question);
  EXPECT_FALSE(answer.fits);
  EXPECT_LT(answer.ranks[answer.tightest].free, 0);
}

TEST(Fit, CountsTheModelAndNotItsActivePartAlone) {
  const MemoryModel model(spec_of("configs/released/Qwen--Qwen3-30B-A3B.json"));  // 61 GB in bf16
  EXPECT_FALSE(fit(model, ask({1, 1, 1, 1}, 24 * gib)).fits);
}

TEST(Fit, NamesTheNearestLayoutThatFits) {
  const MemoryModel model(spec_of("configs/released/Qwen--Qwen3-30B-A3B.json"));
  const FitQuestion question = ask({1, 1, 1, 1}, 24 * gib);
  const auto nearest = nearest_that_fits(model, question);
  ASSERT_TRUE(nearest.has_value());
  EXPECT_TRUE(nearest->fits);
  EXPECT_EQ(nearest->layout.world(), 3);  // 57 GiB over budgets of 21.6
  EXPECT_FALSE(nearest_that_fits(model, ask({1, 1, 1, 1}, gib / 4)).has_value());
}

TEST(Fit, NearestIsTheQuestionItselfWhereThatFits) {
  const MemoryModel model(spec_of("configs/released/Qwen--Qwen3-30B-A3B.json"));
  const Layout asked{2, 1, 2, 4};
  EXPECT_EQ(nearest_that_fits(model, ask(asked, 80 * gib))->layout, asked);
}

TEST(Fit, CountsThatNobodyCouldBuildDoNotWrap) {
  ModelSpec spec = spec_of("models/llama");
  auto& attention = std::get<GqaSpec>(spec.layers[0].attention);
  attention.heads = attention.kv_heads = 4096;
  attention.head_dim = 4096;
  spec.layers.assign(1024, spec.layers[0]);
  const MemoryModel model(spec);
  FitQuestion question = ask({2, 1, 512, 1}, 80 * gib);
  question.context = int64_t{1} << 30;
  question.sequences = 1024;
  question.shared = true;
  const FitAnswer answer = fit(model, question);
  EXPECT_FALSE(answer.fits);
  EXPECT_LT(answer.ranks[answer.tightest].free, 0);
  EXPECT_GT(answer.ranks[0].memory.kv, 0);
}

TEST(Fit, RanksOfOneMachineShareItsMemory) {
  const MemoryModel model(spec_of("models/qwen3-moe"));
  FitQuestion question = ask({2, 1, 1, 2}, 2 * gib);
  question.shared = true;
  question.utilization = 1.0;
  const FitAnswer answer = fit(model, question);
  ASSERT_TRUE(answer.fits);
  EXPECT_LE(answer.ranks[0].memory.total() + answer.ranks[1].memory.total(), 2 * gib);
  EXPECT_EQ(answer.ranks[0].free, answer.ranks[1].free);
  question.ranks_per_node = 1;  // a machine each
  EXPECT_GT(fit(model, question).most_pages, answer.most_pages);
}

TEST(Fit, RemarksThatTensorParallelRanksCacheCopies) {
  const ModelSpec spec = spec_of("configs/field-cases/moe30-fp8");
  const MemoryModel model(spec, find_weight_format("fp8"));
  const FitQuestion question = ask({8, 1, 1, 1}, 80 * gib);
  const auto remarks = fit_remarks(model, question, fit(model, question));
  EXPECT_THAT(remarks, Contains(HasSubstr("4 kv heads over tp 8: the cache is held 2 times; tp 4 × "
                                          "pp 1 × dp 2, ep 1 would hold each head once")));
  const FitQuestion narrow = ask({4, 1, 1, 1}, 80 * gib);
  EXPECT_THAT(fit_remarks(model, narrow, fit(model, narrow)), Not(Contains(HasSubstr("kv heads"))));
}

TEST(Fit, LayersThatCacheNothingAreNotTakenForOneKvHead) {
  const MemoryModel model(spec_of("configs/released/nvidia--Llama-3_3-Nemotron-Super-49B-v1.json"));
  const FitQuestion eight = ask({8, 1, 1, 1}, 80 * gib);
  EXPECT_THAT(fit_remarks(model, eight, fit(model, eight)), Not(Contains(HasSubstr("kv heads"))));
  const FitQuestion sixteen = ask({16, 1, 1, 1}, 80 * gib);
  EXPECT_THAT(fit_remarks(model, sixteen, fit(model, sixteen)),
              Contains(HasSubstr("8 kv heads over tp 16: the cache is held 2 times")));
}

TEST(Fit, SequencesOfWindowedLayersAreCountedByWhatTheyKeep) {
  const MemoryModel model(spec_of("configs/field-cases/sliding-some"));
  FitQuestion question = ask({}, 80 * gib);
  question.shape.max_batch_tokens = 8192;
  question.shape.windows_apart = true;
  question.utilization = 1.0;
  question.context = 16384;
  const RankMemory one = fit(model, question).ranks[0].memory;
  const int64_t token = kv_bytes_per_token(model.spec(), DType::bf16);
  EXPECT_EQ(one.kv, 4096 * token);
  question.memory_bytes = one.total() - one.kv + 2'198'512 * token;
  const FitAnswer answer = fit(model, question);
  EXPECT_EQ(answer.most_sequences, 2'198'512 / 4096);
  EXPECT_THAT(fit_remarks(model, question, answer),
              Contains(HasSubstr("12,304 tokens, take 178.7 sequences of 16,384 at once")));
  question.sequences = answer.most_sequences;
  EXPECT_TRUE(fit(model, question).fits);
  question.sequences += 1;
  EXPECT_FALSE(fit(model, question).fits);
}

TEST(Fit, AsManySequencesFitAsItSays) {
  for (const char* name : {"Qwen--Qwen3-8B", "openai--gpt-oss-20b", "Qwen--Qwen3.5-35B-A3B"}) {
    const MemoryModel model(spec_of(std::string("configs/released/") + name + ".json"));
    for (const bool shared : {false, true}) {
      FitQuestion question = ask({2, 1, 2, 4}, 400 * gib);
      question.shape.windows_apart = !shared;
      question.shared = shared;
      question.context = 5000;
      const FitAnswer answer = fit(model, question);
      ASSERT_GT(answer.most_sequences, 2) << name;
      question.sequences = answer.most_sequences;
      EXPECT_TRUE(fit(model, question).fits) << name;
      question.sequences += 1;
      EXPECT_FALSE(fit(model, question).fits) << name;
    }
  }
}

TEST(Fit, SaysWhichEnginesTakeATpThatCutsBlocksOfScales) {
  const MemoryModel model(spec_of("configs/field-cases/moe30-fp8"), find_weight_format("fp8"));
  for (const int tp : {1, 2, 4, 8}) {
    const FitQuestion question = ask({tp, 1, 1, 1}, 80 * gib);
    const FitAnswer answer = fit(model, question);
    EXPECT_TRUE(answer.fits) << tp;
    EXPECT_THAT(
        fit_remarks(model, question, answer),
        Contains(HasSubstr("blocks of 128 × 128 share a scale: Dure cuts within them, so "
                           "any tp goes; vLLM and SGLang cut between them, which leaves tp "
                           "1, 2, and tp 1, 2, 4, 8, 16, 32 where ep keeps experts whole")));
  }
  // Two and a half blocks.
  const MemoryModel odd(spec_of("configs/field-cases/moe-inter320-fp8"), find_weight_format("fp8"));
  const FitQuestion eight = ask({8, 1, 1, 1}, 80 * gib);
  EXPECT_TRUE(fit(odd, eight).fits);
  EXPECT_EQ(fit(odd, eight).ranks[0].memory.weights, fit(odd, eight).ranks[7].memory.weights);
}

TEST(Fit, ExchangeBuffersGrowWithWidthAndATightUtilizationIsWarnedOf) {
  const MemoryModel model(spec_of("configs/released/Qwen--Qwen3-235B-A22B.json"));
  const auto communication = [&](int ep) {
    FitQuestion question = ask({1, 1, ep, ep}, 178 * gib);
    question.shape.max_batch_tokens = 8192;
    return fit(model, question).ranks[0].memory.communication;
  };
  EXPECT_GT(communication(32), communication(16));
  FitQuestion tight = ask({1, 1, 32, 32}, 178 * gib);
  tight.shape.max_batch_tokens = 8192;
  tight.utilization = 0.95;
  EXPECT_THAT(fit_remarks(model, tight, fit(model, tight)),
              Contains(HasSubstr("utilization 0.95")));
  tight.utilization = 0.9;
  EXPECT_THAT(fit_remarks(model, tight, fit(model, tight)),
              Not(Contains(HasSubstr("utilization 0.9"))));
}

// ---- the check before ranks start

TEST(CheckFits, AcceptsWhatFitsAndNamesWhatIsMissingElse) {
  const ModelSpec spec = spec_of("models/mixtral");
  const std::vector<Weight> weights = inventory(spec);
  const Layout layout{2, 1, 1, 2};
  RunShape shape;
  shape.pages = 1000;
  int64_t needed = 0;
  for (int rank = 0; rank < 2; ++rank)
    needed += rank_memory(weights, spec, layout, rank, shape).total();
  EXPECT_NO_THROW(check_fits_this_machine(spec, weights, layout, shape, 0, needed));
  try {
    check_fits_this_machine(spec, weights, layout, shape, 0, needed - 1);
    FAIL() << "accepted a byte too many";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::answer_is_no);
    EXPECT_THAT(error.message(), HasSubstr("tp 2 × pp 1 × dp 1, ep 2 does not fit"));
    EXPECT_THAT(error.hint(), HasSubstr("a cache of 15,984 tokens fits"));  // 999 pages
  }
  // One rank of the two here needs half of it.
  EXPECT_NO_THROW(check_fits_this_machine(spec, weights, layout, shape, 1, needed - 1));
}

TEST(CheckFits, PointsToMoreMachinesWhereTheWeightsAreTooMuch) {
  const ModelSpec spec = spec_of("configs/released/Qwen--Qwen3-8B.json");
  try {
    check_fits_this_machine(spec, inventory(spec), {2, 1, 1, 1}, {}, 0, 12 * gib);
    FAIL() << "accepted 16 GB in 12";
  } catch (const Error& error) {
    EXPECT_THAT(error.hint(), HasSubstr("on 2 machines like this one"));
  }
}

}  // namespace
}  // namespace dure
