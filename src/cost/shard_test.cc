#include "cost/shard.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "base/error.h"
#include "cost/resident.h"
#include "model/load_spec.h"

namespace dure {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ModelSpec golden(const std::string& name) {
  return load_spec(std::filesystem::path(DURE_SOURCE_DIR) / "testdata/models" / name);
}

constexpr const char* goldens[] = {"llama", "llama-bias-f16", "qwen2", "qwen2-moe",
                                   "qwen3", "qwen3-moe",      "olmoe", "mixtral"};

// Every layout of up to 12 ranks that the model allows.
std::vector<Layout> layouts_of(const ModelSpec& spec) {
  std::vector<Layout> layouts;
  for (int tp = 1; tp <= 12; ++tp) {
    for (int pp = 1; tp * pp <= 12; ++pp) {
      for (int dp = 1; tp * pp * dp <= 12; ++dp) {
        for (int ep = 1; ep <= tp * dp; ++ep) {
          const Layout layout{tp, pp, dp, ep};
          try {
            check_layout_for(spec, layout);
          } catch (const Error&) {
            continue;
          }
          layouts.push_back(layout);
        }
      }
    }
  }
  return layouts;
}

int owner_of_head(int64_t head, int64_t heads, int tp) {
  int rank = 0;
  while (heads * (rank + 1) / tp <= head) ++rank;
  return rank;
}

// How many tensor-parallel ranks need kv head `kv`: told from the query heads alone.
int ranks_that_need(int64_t kv, const AttentionSpec& attention, int tp) {
  std::set<int> ranks;
  const int64_t heads = query_heads(attention);
  const int64_t group = heads / kv_heads(attention);
  for (int64_t q = kv * group; q < (kv + 1) * group; ++q) {
    ranks.insert(owner_of_head(q, heads, tp));
  }
  return static_cast<int>(ranks.size());
}

// How many ranks should hold element (output, input) of a weight.
int expected_holders(const Weight& weight, const ModelSpec& spec, const Layout& layout,
                     int64_t output) {
  int stages = 1;
  if (weight.part == Part::embedding && spec.tied_embeddings && layout.pp > 1) stages = 2;
  if (weight.split == Split::replicated) return stages * layout.stage_ranks();
  if (weight.expert >= 0) return 1;
  if (weight.split == Split::kv_heads) {
    const AttentionSpec& attention = spec.layers[static_cast<size_t>(weight.layer)].attention;
    const int64_t rows = weight.shape[0] / kv_heads(attention);
    return layout.dp * ranks_that_need(output / rows, attention, layout.tp);
  }
  return stages * layout.dp;
}

void expect_holders(const std::string& name, const ModelSpec& spec,
                    const std::vector<Weight>& weights, const Layout& layout) {
  for (const Weight& weight : weights) {
    const int64_t inputs = weight.is_matrix() ? weight.shape[1] : 1;
    // A slice cuts outputs or inputs, never both, so two counts say all.
    std::vector<int> by_output(static_cast<size_t>(weight.shape[0]));
    std::vector<int> by_input(static_cast<size_t>(inputs));
    for (int rank = 0; rank < layout.world(); ++rank) {
      const auto slice = slice_of(weight, spec, layout, share_of(spec, layout, rank));
      if (!slice) continue;
      if (slice->inputs.size() == inputs) {
        for (int64_t i = slice->outputs.begin; i < slice->outputs.end; ++i) {
          ++by_output[static_cast<size_t>(i)];
        }
      } else {
        ASSERT_EQ(slice->outputs.size(), weight.shape[0]) << weight.name;
        for (int64_t i = slice->inputs.begin; i < slice->inputs.end; ++i) {
          ++by_input[static_cast<size_t>(i)];
        }
      }
    }
    for (int64_t i = 0; i < weight.shape[0]; ++i) {
      for (int64_t j = 0; j < (i == 0 ? inputs : 1); ++j) {
        ASSERT_EQ(by_output[static_cast<size_t>(i)] + by_input[static_cast<size_t>(j)],
                  expected_holders(weight, spec, layout, i))
            << name << ' ' << weight.name << ' ' << to_string(layout);
      }
    }
  }
}

TEST(Shard, EveryElementIsHeldByAsManyRanksAsItsSplitSays) {
  int checked = 0;
  for (const char* name : goldens) {
    const ModelSpec spec = golden(name);
    const std::vector<Weight> weights = inventory(spec);
    for (const Layout& layout : layouts_of(spec)) {
      ++checked;
      expect_holders(name, spec, weights, layout);
    }
  }
  EXPECT_GT(checked, 300);
}

// Kinds that keep a state or are planned only split as the others do.
TEST(Shard, EveryElementOfOtherKindsIsHeldByAsManyRanksAsItsSplitSays) {
  for (const char* name : {"qwen3-next", "qwen3-5-moe-text", "kimi-linear", "nemotron-h",
                           "gemma4-moe-text", "deepseek-v4"}) {
    const ModelSpec spec = load_spec(std::filesystem::path(DURE_SOURCE_DIR) /
                                     "testdata/configs/families" / (std::string(name) + ".json"));
    const std::vector<Weight> weights = inventory(spec);
    for (const Layout& layout : {Layout{1, 2, 1, 1}, Layout{2, 1, 2, 4}, Layout{3, 1, 1, 1},
                                 Layout{4, 2, 1, 2}, Layout{8, 1, 1, 4}}) {
      expect_holders(name, spec, weights, layout);
    }
  }
}

TEST(Shard, BytesOverRanksAreTheTotalAndTheStatedCopies) {
  const ModelSpec spec = load_spec(std::filesystem::path(DURE_SOURCE_DIR) /
                                   "testdata/configs/released/Qwen--Qwen3-30B-A3B.json");
  const std::vector<Weight> weights = inventory(spec);
  for (const Layout& layout : {Layout{2, 1, 4, 8}, Layout{2, 1, 4, 1}}) {
    int64_t held = 0;
    for (int rank = 0; rank < layout.world(); ++rank) {
      const RankShare share = share_of(spec, layout, rank);
      int64_t attention = 0;
      int64_t experts = 0;
      int64_t everywhere = 0;
      for (const Weight& weight : weights) {
        const auto slice = slice_of(weight, spec, layout, share);
        if (!slice) continue;
        const int64_t elements = slice->elements();
        held += elements;
        if (weight.expert >= 0) {
          experts += elements;
        } else if (weight.split == Split::replicated) {
          everywhere += elements;
        } else if (weight.layer >= 0) {
          attention += elements;
        }
      }
      // 48 layers: q and o 4096 × 2048, k and v 512 × 2048; 128 experts of 3 × 768 × 2048; router
      // 128 × 2048, two norms of 2048, two of 128, and the last norm.
      EXPECT_EQ(attention, int64_t{48} * 2 * (4096 + 512) * 2048 / 2);
      EXPECT_EQ(experts, int64_t{48} * 128 * 3 * 768 * 2048 / 8);
      EXPECT_EQ(everywhere, int64_t{48} * (128 * 2048 + 2 * 2048 + 2 * 128) + 2048);
    }
    // Attention, embedding and head stand in 4 dp groups; router and norms on 8 ranks; experts
    // once.
    const int64_t split = int64_t{48} * 2 * (4096 + 512) * 2048 + int64_t{2} * 151936 * 2048;
    const int64_t replicated = int64_t{48} * (128 * 2048 + 2 * 2048 + 2 * 128) + 2048;
    EXPECT_EQ(held, total_parameters(spec) + 3 * split + 7 * replicated);
  }
}

TEST(Shard, EveryLayerIsOnOneStage) {
  const auto sizes = [](int64_t n, int parts) {
    std::vector<int64_t> all;
    for (int i = 0; i < parts; ++i) all.push_back(cut_front_heavy(n, parts, i).size());
    return all;
  };
  EXPECT_THAT(sizes(10, 3), ElementsAre(4, 3, 3));
  EXPECT_THAT(sizes(30, 4), ElementsAre(8, 8, 7, 7));
  EXPECT_THAT(sizes(256, 3), ElementsAre(86, 85, 85));
  ModelSpec spec = golden("llama");
  spec.layers.resize(10, spec.layers[0]);
  std::vector<int64_t> held;
  for (int rank = 0; rank < 3; ++rank)
    held.push_back(share_of(spec, {1, 3, 1, 1}, rank).layers.size());
  EXPECT_THAT(held, ElementsAre(4, 3, 3));
}

TEST(Shard, KvHeadsAreCopiedWhereRanksOutnumberThem) {
  GqaSpec attention;
  attention.heads = 32;
  attention.kv_heads = 4;
  for (int i = 0; i < 8; ++i) {
    const HeadShare share = heads_of(attention, 8, i);
    EXPECT_EQ(share.q.size(), 4);
    EXPECT_EQ(share.kv, (Range{i / 2, i / 2 + 1}));
  }
  // 6 heads over 4 ranks: 1 2 1 2, and each rank has the kv head of its query heads.
  GqaSpec uneven;
  uneven.heads = 6;
  uneven.kv_heads = 3;
  EXPECT_EQ(heads_of(uneven, 4, 1).q, (Range{1, 3}));
  EXPECT_EQ(heads_of(uneven, 4, 1).kv, (Range{0, 2}));
  // More ranks than heads: one holds none.
  EXPECT_EQ(heads_of(uneven, 8, 0).q.size(), 0);
  EXPECT_EQ(heads_of(uneven, 8, 0).kv.size(), 0);
}

std::string refusal(const ModelSpec& spec, const Layout& layout) {
  try {
    check_layout_for(spec, layout);
  } catch (const Error& error) {
    return error.field() + ": " + error.message();
  }
  return "";
}

TEST(Shard, RefusesOnlyLayoutsThatLeaveARankWithNothing) {
  const ModelSpec moe = golden("qwen2-moe");  // 6 layers, 10 experts
  EXPECT_THAT(refusal(moe, {1, 7, 1, 1}), HasSubstr("pp: --pp 7"));
  EXPECT_EQ(refusal(moe, {1, 6, 1, 1}), "");
  EXPECT_THAT(refusal(moe, {1, 1, 11, 11}), HasSubstr("ep: --ep 11"));
  EXPECT_EQ(refusal(moe, {1, 1, 10, 10}), "");
  EXPECT_EQ(refusal(moe, {3, 1, 1, 3}), "");
  const ModelSpec dense = golden("llama");  // intermediate 160
  EXPECT_THAT(refusal(dense, {161, 1, 1, 1}), HasSubstr("tp: --tp 161"));
  EXPECT_EQ(refusal(dense, {160, 1, 1, 1}), "");
}

// The layout asked for, with the flags that the hint of its refusal names.
Layout hinted(const ModelSpec& spec, Layout layout) {
  try {
    check_layout_for(spec, layout);
    ADD_FAILURE() << to_string(layout) << " is accepted";
  } catch (const Error& error) {
    std::istringstream words(error.hint());
    std::string flag;
    EXPECT_TRUE(words >> flag && flag == "use") << error.hint();
    for (int size = 0; words >> flag >> size;) {
      (flag == "--tp" ? layout.tp : flag == "--pp" ? layout.pp : layout.ep) = size;
    }
  }
  return layout;
}

TEST(Shard, HintsOfRefusalsNameLayoutsThatAreAccepted) {
  for (const char* name : goldens) {
    const ModelSpec spec = golden(name);
    for (const int tp : {1, 2, 16, 161, 4096}) {
      for (const int pp : {1, 2, 99}) {
        for (const int dp : {1, 3, 16}) {
          for (const int ep : {1, tp, dp * tp}) {
            const Layout layout{tp, pp, dp, ep};
            if (layout.world() > 65536 || ep > 4096 || refusal(spec, layout).empty()) continue;
            EXPECT_EQ(refusal(spec, hinted(spec, layout)), "") << name << ' ' << to_string(layout);
          }
        }
      }
    }
  }
  const ModelSpec kimi = golden("kimi-linear");  // 10 experts
  EXPECT_EQ(hinted(kimi, {16, 1, 1, 16}), (Layout{16, 1, 1, 8}));
}

TEST(Shard, RanksWithoutHeadsOfSomeLayersAreIdleThere) {
  const ModelSpec spec = golden("nemotron-h");  // layers of four Mamba-2 heads, and nothing else
  for (const int tp : {5, 7, 8, 16}) EXPECT_EQ(refusal(spec, {tp, 1, 1, 1}), "") << tp;
  // A stage of such a layer alone.
  const auto layers = static_cast<int>(spec.layers.size());
  EXPECT_THAT(refusal(spec, {8, layers, 1, 1}), HasSubstr("can be cut 4 ways at most"));
}

TEST(Shard, SameBitsNeedWholeSubtreesOfTheSummationTree) {
  const ModelSpec llama = golden("llama");
  EXPECT_TRUE(keeps_the_same_bits(llama, {4, 2, 1, 1}));
  EXPECT_TRUE(keeps_the_same_bits(llama, {8, 1, 1, 1}));
  EXPECT_FALSE(keeps_the_same_bits(llama, {3, 1, 1, 1}));
  EXPECT_FALSE(keeps_the_same_bits(llama, {16, 1, 1, 1}));
  const ModelSpec moe = golden("olmoe");
  EXPECT_TRUE(keeps_the_same_bits(moe, {2, 1, 2, 4}));
  EXPECT_FALSE(keeps_the_same_bits(moe, {2, 1, 3, 2}));   // each expert cut in 3
  EXPECT_TRUE(keeps_the_same_bits(llama, {2, 1, 3, 1}));  // no experts to cut
}

// Also where a plan stacks what another model reads from one input: DeepSeek-V4's queries come from
// compressed ones, its keys do not, and its compressors have parts of several types.
TEST(Shard, RowsOfAPackedMatrixHaveOneLengthAndPlannedPartsTheirOwnBytes) {
  const auto configs = std::filesystem::path(DURE_SOURCE_DIR) / "testdata/configs/families";
  for (const char* name : {"deepseek-v4.json", "kimi-linear.json", "gemma4-moe-text.json"}) {
    const ModelSpec spec = load_spec(configs / name);
    const std::vector<Weight> weights = inventory(spec);
    for (const Layout& layout : {Layout{1, 1, 1, 1}, Layout{2, 1, 1, 2}, Layout{8, 1, 1, 1}}) {
      const RankShare share = share_of(spec, layout, 0);
      for (const Resident& each : resident_weights(weights, spec, layout, share, Compute::fp32)) {
        EXPECT_GE(each.bytes(), each.payload()) << each.pieces[0].weight->name;
        for (const ResidentPiece& piece : each.pieces) {
          if (each.form == Form::packed) {
            EXPECT_EQ(each.shape.k(), piece.slice.inputs.size()) << piece.weight->name;
          } else if (each.slot == Slot::planned_only) {
            EXPECT_EQ(each.payload(), piece.slice.elements() * bytes_of(piece.weight->dtype))
                << piece.weight->name;
          }
        }
      }
    }
  }
}

// The loader packs exactly the inputs that it reads, whatever the split.
TEST(Shard, SegmentsOfAPackedMatrixAreItsSlice) {
  for (const char* name : goldens) {
    const ModelSpec spec = golden(name);
    const std::vector<Weight> weights = inventory(spec);
    for (const Layout& layout : layouts_of(spec)) {
      for (int rank = 0; rank < layout.world(); ++rank) {
        const RankShare share = share_of(spec, layout, rank);
        for (const Resident& each : resident_weights(weights, spec, layout, share, Compute::bf16)) {
          if (each.form != Form::packed) continue;
          ASSERT_EQ(each.shape.k(), each.pieces[0].slice.inputs.size())
              << name << ' ' << each.pieces[0].weight->name << ' ' << to_string(layout);
        }
      }
    }
  }
}

}  // namespace
}  // namespace dure
