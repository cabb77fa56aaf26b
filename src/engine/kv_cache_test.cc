#include "engine/kv_cache.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cost/memory.h"
#include "cost/state_shape.h"
#include "kernels/backend.h"

namespace dure {
namespace {

constexpr DeltaNetSpec delta{
    .heads = 6, .key_heads = 3, .key_dim = 16, .value_dim = 24, .conv_width = 4};
constexpr Mamba2Spec mamba{
    .heads = 8, .groups = 2, .head_dim = 40, .state_dim = 24, .conv_width = 3};

// What the kernels want of a slot is what the planner counts.
TEST(KvCache, StatesAreAsLargeAsTheKernelsWantThem) {
  for (const int tp : {1, 2, 3, 4, 8}) {
    for (int rank = 0; rank < tp; ++rank) {
      const HeadShare of_delta = heads_of(delta, tp, rank);
      const StateFloats a = state_of(delta, tp, rank);
      EXPECT_EQ(a.recurrence, recurrent_state_floats(of_delta.q.size(), 16, 24));
      const int64_t needed = conv_state_floats(state_row(delta, of_delta).convolved(), 4);
      EXPECT_GE(a.convolution, needed);
      EXPECT_LT(a.convolution, needed + 16);

      const HeadShare of_mamba = heads_of(mamba, tp, rank);
      const StateFloats b = state_of(mamba, tp, rank);
      EXPECT_EQ(b.recurrence, recurrent_state_floats(of_mamba.q.size(), 24, 40));
      EXPECT_GE(b.convolution, conv_state_floats(state_row(mamba, of_mamba).convolved(), 3));
    }
  }
}

TEST(KvCache, HoldsTheStatesThatThePlannerCounts) {
  ModelSpec spec;
  GqaSpec gqa;
  gqa.heads = 4;
  gqa.kv_heads = 2;
  gqa.head_dim = gqa.v_head_dim = 8;
  for (const AttentionSpec& kind :
       {AttentionSpec{delta}, AttentionSpec{mamba}, AttentionSpec{gqa}, AttentionSpec{}}) {
    spec.layers.push_back({kind, DenseFfn{.intermediate = 8}});
  }
  spec.layers.back().attention = std::monostate{};
  const Layout layout{.tp = 4};
  RunShape shape;
  shape.kv_element_bytes = 4;
  shape.page_tokens = 16;
  for (int rank = 0; rank < 4; ++rank) {
    const RankShare share = share_of(spec, layout, rank);
    const PageLayout pages = page_layout(spec, layout, share, page_classes(spec, 0));
    const KvCache cache(spec, layout, share, pages, {DType::f32, 5, 16, 3});
    EXPECT_EQ(cache.bytes(),
              5 * kv_page_bytes(spec, layout, share, shape) + 3 * state_bytes(spec, layout, share));
    for (const int64_t layer : {0, 1}) {
      const LayerCache& view = cache.layer(layer);
      for (const StateLayer& states : {view.recurrence, view.convolution}) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(states.data) % 64, 0u);
        EXPECT_EQ(states.slot_floats % 16, 0);
      }
    }
    EXPECT_EQ(cache.layer(3).recurrence.data, nullptr);
  }
}

// Layers of a table lie beside each other in its pages; those of different tables use the same.
TEST(KvCache, LayersShareThePagesByWhatTheySee) {
  ModelSpec spec;
  GqaSpec gqa;
  gqa.heads = 4;
  gqa.kv_heads = 2;
  gqa.head_dim = 8;
  gqa.v_head_dim = 16;
  const int64_t bytes = 2 * (8 + 16) * 16 * 2;  // of a layer, in a page
  for (const bool windowed : {true, false, true, true, false, true}) {
    gqa.window = windowed ? std::optional<int64_t>(20) : std::nullopt;
    spec.layers.push_back({gqa, DenseFfn{.intermediate = 8}});
  }
  const Layout layout;
  const RankShare share = share_of(spec, layout, 0);
  const std::vector<PageClass> classes = page_classes(spec, 100);
  EXPECT_EQ(classes, (std::vector<PageClass>{{0, 1}, {20, 2}}));
  const PageLayout pages = page_layout(spec, layout, share, classes);
  const KvCache cache(spec, layout, share, pages, {DType::bf16, 3, 16, 0});
  EXPECT_EQ(cache.bytes(), 3 * 2 * bytes);
  const auto* first = static_cast<const std::byte*>(cache.layer(1).kv.k);
  const size_t tables[] = {1, 0, 2, 1, 0, 2};
  const int64_t places[] = {0, 0, 0, 1, 1, 1};
  for (int64_t i = 0; i < 6; ++i) {
    const LayerCache& layer = cache.layer(i);
    EXPECT_EQ(layer.table, tables[i]) << i;
    EXPECT_EQ(static_cast<const std::byte*>(layer.kv.k) - first, places[i] * bytes) << i;
    EXPECT_EQ(static_cast<const std::byte*>(layer.kv.v) - first,
              places[i] * bytes + 2 * 8 * 16 * 2);
    EXPECT_EQ(layer.kv.page_bytes, 2 * bytes);
  }
  // A window that no sequence outgrows is none.
  EXPECT_EQ(page_classes(spec, 20), std::vector<PageClass>{PageClass{}});
}

}  // namespace
}  // namespace dure
