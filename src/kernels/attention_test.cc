// Attention and cache writes of every instruction set: against the reference, and the same bits
// however queries are cut, ordered, and spread.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/backend.h"
#include "kernels/random_data.h"

namespace dure {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

struct Case {
  int64_t heads = 8;
  std::vector<int32_t> kv_of_head = {0, 0, 0, 0, 1, 1, 1, 1};
  int64_t kv_heads = 2;
  int64_t head_dim = 32;
  int64_t page_tokens = 16;
  int64_t window = 0;
  DType dtype = DType::bf16;
};

// One sequence with random q, k, v of `length` tokens, its pages in reverse over a cache whose
// other contents are NaN.
struct Sequence {
  Sequence(const Case& s, int64_t length, uint32_t seed)
      : setup(s),
        q(random_floats(length * s.heads * s.head_dim, seed)),
        k(random_floats(length * s.kv_heads * s.head_dim, seed + 1)),
        v(random_floats(length * s.kv_heads * s.head_dim, seed + 2)) {
    const int64_t count = (length + s.page_tokens - 1) / s.page_tokens;
    for (int64_t i = 0; i < count; ++i) pages.push_back(static_cast<int32_t>(count - 1 - i));
    const int64_t bytes =
        count * kv_page_elements(s.page_tokens, s.kv_heads, s.head_dim) * bytes_of(s.dtype);
    k_cache.assign(static_cast<size_t>(bytes), 0xff);
    v_cache.assign(static_cast<size_t>(bytes), 0xff);
  }

  KvLayer cache() {
    return {k_cache.data(),    v_cache.data(), setup.dtype,
            setup.page_tokens, setup.kv_heads, setup.head_dim};
  }

  AttentionShape shape() const {
    return {setup.heads, setup.head_dim, setup.kv_of_head,
            1.0f / std::sqrt(static_cast<float>(setup.head_dim)), setup.window};
  }

  void write(Backend& backend, int64_t from, int64_t to) {
    const AttentionSlice slice{from, to - from, from, pages};
    backend.kv_write(k.data(), v.data(), setup.kv_heads * setup.head_dim, {&slice, 1}, cache());
  }

  // Rows of q are positions; cuts in rising order, the last one the length.
  std::vector<float> attend_in_chunks(Backend& backend, const std::vector<int64_t>& cuts) {
    std::vector<float> out(q.size(), nan);
    int64_t from = 0;
    for (const int64_t to : cuts) {
      write(backend, from, to);
      const AttentionSlice slice{from, to - from, from, pages};
      backend.attention(q.data(), setup.heads * setup.head_dim, {&slice, 1}, shape(), cache(),
                        out.data());
      from = to;
    }
    return out;
  }

  Case setup;
  std::vector<float> q, k, v;
  std::vector<int32_t> pages;
  std::vector<uint8_t> k_cache, v_cache;
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::vector<Case> attention_cases() {
  std::vector<Case> all = {{},
                           {.dtype = DType::f32},
                           {.dtype = DType::f16},
                           {.window = 1},
                           {.window = 7},
                           {.window = 16},
                           {.window = 21, .dtype = DType::f32},
                           {.head_dim = 128},
                           {.head_dim = 20, .dtype = DType::f16},  // no multiple of the lanes
                           {.head_dim = 5},
                           {.page_tokens = 8},
                           {.page_tokens = 1, .dtype = DType::f16},
                           {.page_tokens = 24},
                           {.page_tokens = 32, .dtype = DType::f32},
                           {.page_tokens = 64, .window = 40},
                           {.heads = 2, .kv_of_head = {0, 1}},
                           {.heads = 3, .kv_of_head = {1, 0, 1}},
                           {.heads = 3, .kv_of_head = {2, 2, 2}, .kv_heads = 3},
                           {.heads = 1, .kv_of_head = {0}, .kv_heads = 1}};
  Case many{.heads = 40, .kv_of_head = {}, .kv_heads = 2};  // more than share one pass
  for (int32_t h = 0; h < 40; ++h) many.kv_of_head.push_back(h < 37 ? 0 : 1);
  all.push_back(many);
  return all;
}

class AttentionOnIsa : public testing::TestWithParam<std::string_view> {};

// Both sides do the same operations but for exp, which differs by at most e = 2^-22.6 + 2^-23 <
// 2^-21.7 of itself. A weight is one exp times at most one factor per block: (blocks + 1) e in the
// sum of values, the same in the sum of weights. Each side rounds a running value once per key and
// block, and the sum of weights likewise: 2 (keys + blocks) 2^-24 each. |v| <= 1.
TEST_P(AttentionOnIsa, StaysWithinTheDerivedBoundOfTheReference) {
  const auto reference = make_cpu_backend(1, "reference");
  const auto backend = make_cpu_backend(2, GetParam());
  for (const Case& setup : attention_cases()) {
    const int64_t length = 75;
    Sequence a(setup, length, 1);
    Sequence b(setup, length, 1);
    const auto expected = a.attend_in_chunks(*reference, {length});
    const auto got = b.attend_in_chunks(*backend, {length});
    EXPECT_EQ(a.k_cache, b.k_cache);
    EXPECT_EQ(a.v_cache, b.v_cache);
    const double blocks = static_cast<double>(length / setup.page_tokens + 2);
    const double bound =
        2 * (blocks + 1) * 0x1p-21 * 0.62 + 4 * (static_cast<double>(length) + blocks) * 0x1p-24;
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], expected[i], bound) << "page " << setup.page_tokens << " dim "
                                              << setup.head_dim << " window " << setup.window;
  }
}

TEST_P(AttentionOnIsa, ChunksOfAPrefillAndSingleDecodesGiveTheBitsOfTheWhole) {
  const auto backend = make_cpu_backend(2, GetParam());
  for (const Case& setup : attention_cases()) {
    const int64_t length = 75;
    Sequence whole(setup, length, 4);
    const auto expected = whole.attend_in_chunks(*backend, {length});
    std::vector<int64_t> single(static_cast<size_t>(length));
    std::iota(single.begin(), single.end(), 1);
    for (const std::vector<int64_t>& cuts :
         {single, {1, 2, 20, 75}, {16, 32, 48, 64, 75}, {74, 75}}) {
      Sequence chunked(setup, length, 4);
      ASSERT_TRUE(same_bits(chunked.attend_in_chunks(*backend, cuts), expected))
          << "page " << setup.page_tokens << " dim " << setup.head_dim << " window " << setup.window
          << " heads " << setup.heads << " chunks " << cuts.size();
    }
  }
}

TEST_P(AttentionOnIsa, ThreadsHeadsBesideAndOrderOfSlicesChangeNoBit) {
  // Two sequences in one cache, each a slice; and the second half of the heads alone, as a rank of
  // tp 2 has them.
  const Case setup;
  const int64_t width = setup.heads * setup.head_dim;
  Sequence all(setup, 120, 9);
  std::vector<int32_t> first(all.pages.begin(), all.pages.begin() + 3);
  std::vector<int32_t> second(all.pages.begin() + 3, all.pages.end());
  const AttentionSlice a{0, 43, 0, first};
  const AttentionSlice b{43, 70, 3, second};  // three positions were cached before
  const AttentionSlice before{113, 3, 0, second};
  const std::vector<AttentionSlice> forward = {a, b};
  const std::vector<AttentionSlice> backward = {b, a};
  std::vector<float> expected;
  for (int threads : {1, 2, 5}) {
    const auto backend = make_cpu_backend(threads, GetParam());
    const int64_t kv_width = setup.kv_heads * setup.head_dim;
    for (const auto& slices : {forward, backward}) {
      backend->kv_write(all.k.data(), all.v.data(), kv_width, {&before, 1}, all.cache());
      backend->kv_write(all.k.data(), all.v.data(), kv_width, slices, all.cache());
      std::vector<float> out(static_cast<size_t>(120 * width), 0.0f);
      backend->attention(all.q.data(), width, slices, all.shape(), all.cache(), out.data());
      if (expected.empty()) expected = out;
      EXPECT_TRUE(same_bits(out, expected)) << threads;
    }
    AttentionShape half = all.shape();
    half.heads = 4;
    half.kv_of_head = half.kv_of_head.subspan(4);
    std::vector<float> out(static_cast<size_t>(120 * width / 2), 0.0f);
    backend->attention(all.q.data() + width / 2, width, forward, half, all.cache(), out.data());
    for (int64_t row = 0; row < 113; ++row)
      ASSERT_EQ(std::memcmp(out.data() + row * width / 2, expected.data() + row * width + width / 2,
                            static_cast<size_t>(width / 2) * sizeof(float)),
                0);
  }
}

TEST_P(AttentionOnIsa, LaterKeysThatAreNanDoNotReachEarlierRows) {
  for (const Case& setup : {Case{}, Case{.heads = 2, .kv_of_head = {0, 1}}}) {
    const auto backend = make_cpu_backend(1, GetParam());
    Sequence clean(setup, 40, 12);
    const auto expected = clean.attend_in_chunks(*backend, {40});
    Sequence dirty(setup, 40, 12);
    const int64_t kv_width = setup.kv_heads * setup.head_dim;
    for (int64_t d = 0; d < kv_width; ++d) {
      dirty.k[static_cast<size_t>(25 * kv_width + d)] = nan;
      dirty.v[static_cast<size_t>(25 * kv_width + d)] = std::numeric_limits<float>::infinity();
    }
    const auto got = dirty.attend_in_chunks(*backend, {40});
    const int64_t row = setup.heads * setup.head_dim;
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), static_cast<size_t>(25 * row) * 4), 0);
    for (int64_t i = 25 * row; i < 26 * row; ++i)
      EXPECT_FALSE(std::isfinite(got[static_cast<size_t>(i)]));
  }
}

TEST_P(AttentionOnIsa, LargeScoresDoNotOverflow) {
  const auto backend = make_cpu_backend(1, GetParam());
  Sequence sequence(Case{.dtype = DType::f32}, 50, 13);
  for (float& x : sequence.q) x *= 1e4f;
  for (float& x : sequence.k) x *= 1e4f;
  for (const float x : sequence.attend_in_chunks(*backend, {50})) {
    EXPECT_TRUE(std::isfinite(x));
    EXPECT_LE(std::abs(x), 1.0001f);
  }
}

TEST_P(AttentionOnIsa, NoHeadsNoTokensAndNoSlicesAreNothingToDo) {
  const auto backend = make_cpu_backend(2, GetParam());
  Sequence sequence(Case{}, 10, 14);
  float untouched = 7.0f;
  backend->attention(sequence.q.data(), 256, {}, sequence.shape(), sequence.cache(), &untouched);
  const AttentionSlice empty{0, 0, 5, sequence.pages};
  backend->attention(sequence.q.data(), 256, {&empty, 1}, sequence.shape(), sequence.cache(),
                     &untouched);
  backend->kv_write(sequence.k.data(), sequence.v.data(), 64, {&empty, 1}, sequence.cache());
  const AttentionSlice slice{0, 3, 0, sequence.pages};
  AttentionShape no_heads = sequence.shape();
  no_heads.heads = 0;
  no_heads.kv_of_head = {};
  backend->attention(sequence.q.data(), 256, {&slice, 1}, no_heads, sequence.cache(), &untouched);
  KvLayer no_cache = sequence.cache();
  no_cache.kv_heads = 0;
  backend->attention(sequence.q.data(), 256, {&slice, 1}, no_heads, no_cache, &untouched);
  backend->kv_write(sequence.k.data(), sequence.v.data(), 0, {&slice, 1}, no_cache);
  EXPECT_EQ(untouched, 7.0f);
}

INSTANTIATE_TEST_SUITE_P(, AttentionOnIsa, testing::ValuesIn(cpu_isas()), [](const auto& info) {
  std::string name(info.param);
  std::erase(name, '-');
  return name;
});

TEST(Attention, Avx2AndAvx512GiveTheSameBits) {
  const auto isas = cpu_isas();
  if (std::find(isas.begin(), isas.end(), "avx512") == isas.end())
    GTEST_SKIP() << "this CPU has no AVX-512";
  for (const Case& setup : attention_cases()) {
    Sequence a(setup, 75, 15);
    Sequence b(setup, 75, 15);
    EXPECT_TRUE(same_bits(a.attend_in_chunks(*make_cpu_backend(1, "avx2"), {75}),
                          b.attend_in_chunks(*make_cpu_backend(2, "avx512"), {40, 75})));
  }
}

}  // namespace
}  // namespace dure
