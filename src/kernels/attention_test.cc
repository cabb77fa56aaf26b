// Attention and cache writes of every instruction set: against the reference, and the same bits
// however queries are cut, ordered, and spread.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/compare_floats.h"
#include "kernels/random_data.h"
#include "tensor/float_bits.h"

namespace dure {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

struct Case {
  int64_t heads = 8;
  std::vector<int32_t> kv_of_head = {0, 0, 0, 0, 1, 1, 1, 1};
  int64_t kv_heads = 2;
  int64_t head_dim = 32;
  int64_t v_head_dim = 0;  // 0: head_dim
  int64_t page_tokens = 16;
  int64_t window = 0;
  int64_t chunk = 0;
  float softcap = 0.0f;
  std::vector<float> sinks = {};
  DType dtype = DType::bf16;

  std::string name() const {
    return "heads " + std::to_string(heads) + " dims " + std::to_string(head_dim) + " and " +
           std::to_string(v_head_dim) + " page " + std::to_string(page_tokens) + " window " +
           std::to_string(window) + " chunk " + std::to_string(chunk) + " softcap " +
           std::to_string(softcap) + " sinks " + std::to_string(sinks.size()) + " " +
           std::string(to_string(dtype));
  }
};

// One sequence with random rows [q of all heads | k | v] of `length` tokens, its pages in reverse
// over a cache whose other contents are NaN.
struct Sequence {
  Sequence(const Case& s, int64_t length_in, uint32_t seed) : setup(s), length(length_in) {
    if (setup.v_head_dim == 0) setup.v_head_dim = s.head_dim;
    q_width = s.heads * s.head_dim;
    k_width = s.kv_heads * s.head_dim;
    v_width = s.kv_heads * setup.v_head_dim;
    out_width = s.heads * setup.v_head_dim;
    stride = q_width + k_width + v_width;
    rows = random_floats(length * stride, seed);
    const int64_t count = (length + s.page_tokens - 1) / s.page_tokens;
    for (int64_t i = 0; i < count; ++i) pages.push_back(static_cast<int32_t>(count - 1 - i));
    const auto bytes = [&](int64_t head_dim) {
      return kv_page_elements(s.page_tokens, s.kv_heads, head_dim) * bytes_of(s.dtype);
    };
    // Between a page's k and v, and behind them, lies what is another layer's.
    v_at = bytes(s.head_dim) + 24;
    page_bytes = v_at + bytes(setup.v_head_dim) + 8;
    stored.assign(static_cast<size_t>(count * page_bytes), 0xff);
  }

  const float* q() const { return rows.data(); }
  float* k() { return rows.data() + q_width; }
  float* v() { return k() + k_width; }

  KvLayer cache() {
    return {stored.data(),  stored.data() + v_at, setup.dtype,      setup.page_tokens,
            setup.kv_heads, setup.head_dim,       setup.v_head_dim, page_bytes};
  }

  AttentionShape shape() const {
    AttentionShape shape;
    shape.heads = setup.heads;
    shape.head_dim = setup.head_dim;
    shape.v_head_dim = setup.v_head_dim;
    shape.kv_of_head = setup.kv_of_head;
    shape.scale = 1.0f / std::sqrt(static_cast<float>(setup.head_dim));
    shape.window = setup.window;
    shape.chunk = setup.chunk;
    shape.softcap = setup.softcap;
    if (!setup.sinks.empty()) shape.sinks = setup.sinks.data();
    return shape;
  }

  void write(Backend& backend, int64_t from, int64_t to) {
    const AttentionSlice slice{from, to - from, from, pages};
    backend.kv_write(k(), stride, v(), stride, {&slice, 1}, cache());
  }

  // Rows are positions; cuts in rising order, the last one the length.
  std::vector<float> attend_in_chunks(Backend& backend, const std::vector<int64_t>& cuts) {
    std::vector<float> out(static_cast<size_t>(length * out_width), nan);
    int64_t from = 0;
    for (const int64_t to : cuts) {
      write(backend, from, to);
      const AttentionSlice slice{from, to - from, from, pages};
      backend.attention(q(), stride, {&slice, 1}, shape(), cache(), out.data());
      from = to;
    }
    return out;
  }

  Case setup;
  int64_t length;
  int64_t q_width, k_width, v_width, out_width, stride;
  std::vector<float> rows;
  std::vector<int32_t> pages;
  std::vector<uint8_t> stored;
  int64_t v_at, page_bytes;
};

std::vector<Case> attention_cases() {
  std::vector<Case> all = {
      {},
      {.dtype = DType::f32},
      {.dtype = DType::f16},
      {.dtype = DType::fp8},
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
      {.head_dim = 20, .v_head_dim = 7, .page_tokens = 24, .window = 30, .dtype = DType::fp8},
      {.page_tokens = 1, .dtype = DType::fp8},
      {.page_tokens = 32, .dtype = DType::f32},
      {.page_tokens = 64, .window = 40},
      {.heads = 2, .kv_of_head = {0, 1}},
      {.heads = 3, .kv_of_head = {1, 0, 1}},
      {.heads = 3, .kv_of_head = {2, 2, 2}, .kv_heads = 3},
      {.heads = 1, .kv_of_head = {0}, .kv_heads = 1},
      {.head_dim = 24, .v_head_dim = 16},
      {.head_dim = 24, .v_head_dim = 40, .page_tokens = 8, .dtype = DType::f16},
      {.head_dim = 12, .v_head_dim = 7, .window = 9},
      {.chunk = 1},
      {.chunk = 16},
      {.page_tokens = 8, .chunk = 20},
      {.page_tokens = 64, .chunk = 30, .dtype = DType::f32},
      {.softcap = 0.5f},
      {.page_tokens = 24, .window = 20, .softcap = 50.0f},
      {.sinks = {0, 1, 2, -3, 0.5f, -1, 4, -0.25f}},
      {.head_dim = 24,
       .v_head_dim = 16,
       .page_tokens = 8,
       .window = 13,
       .sinks = {5, 1, 2, -3, 0.5f, -1, 4, -20}}};
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
// A soft cap adds a tanh, which differs by at most 2^-21 + 2^-22 of itself (libm's own bound is two
// units in the last place), so a score by 2^-20 softcap, and a weight by twice that of itself.
double bound_of(const Case& setup, int64_t keys) {
  const int64_t whole = keys / setup.page_tokens;
  const double blocks = static_cast<double>(whole + 2);
  return 2 * (blocks + 1) * 0x1p-21 * 0.62 + 4 * (static_cast<double>(keys) + blocks) * 0x1p-24 +
         4 * 0x1p-20 * static_cast<double>(setup.softcap);
}

TEST_P(AttentionOnIsa, StaysWithinTheDerivedBoundOfTheReference) {
  const auto reference = make_cpu_backend(1, "reference");
  const auto backend = make_cpu_backend(2, GetParam());
  for (const Case& setup : attention_cases()) {
    const int64_t length = 75;
    Sequence a(setup, length, 1);
    Sequence b(setup, length, 1);
    const auto expected = a.attend_in_chunks(*reference, {length});
    const auto got = b.attend_in_chunks(*backend, {length});
    EXPECT_EQ(a.stored, b.stored);
    const double bound = bound_of(setup, length);
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], bound) << setup.name();
  }
}

// Output (row, head) by the definition, in double, from fp32 rows.
std::vector<double> defined_output(Sequence& s, int64_t row, int64_t head) {
  const AttentionShape shape = s.shape();
  const int64_t kv = shape.kv_of_head[static_cast<size_t>(head)];
  std::vector<double> value(static_cast<size_t>(shape.v_head_dim), 0.0);
  double sum = shape.sinks != nullptr ? std::exp(static_cast<double>(shape.sinks[head])) : 0.0;
  for (int64_t key = 0; key <= row; ++key) {
    if (shape.window > 0 && key <= row - shape.window) continue;
    if (shape.chunk > 0 && key / shape.chunk != row / shape.chunk) continue;
    double score = 0.0;
    for (int64_t d = 0; d < shape.head_dim; ++d)
      score += static_cast<double>(s.q()[row * s.stride + head * shape.head_dim + d]) *
               static_cast<double>(s.k()[key * s.stride + kv * shape.head_dim + d]);
    score *= static_cast<double>(shape.scale);
    const auto cap = static_cast<double>(shape.softcap);
    if (cap > 0.0) score = cap * std::tanh(score / cap);
    sum += std::exp(score);
    for (int64_t d = 0; d < shape.v_head_dim; ++d)
      value[static_cast<size_t>(d)] +=
          std::exp(score) * static_cast<double>(s.v()[key * s.stride + kv * shape.v_head_dim + d]);
  }
  for (double& x : value) x /= sum;
  return value;
}

// To the bound above come the products' own errors, the same on all instruction sets: head_dim
// roundings of sums below head_dim, times the scale; a weight feels twice that, the quotient twice
// more. Without a cap exp(score) here is safe: |score| <= 8 sqrt(head_dim).
TEST_P(AttentionOnIsa, FollowsTheDefinitionInDouble) {
  const auto backend = make_cpu_backend(2, GetParam());
  for (Case setup : attention_cases()) {
    setup.dtype = DType::f32;
    const int64_t length = 43;
    Sequence sequence(setup, length, 30);
    const auto got = sequence.attend_in_chunks(*backend, {length});
    const auto dims = static_cast<double>(setup.head_dim);
    const double bound = bound_of(setup, length) +
                         4 * dims * dims * 0x1p-24 * static_cast<double>(sequence.shape().scale);
    for (int64_t row = 0; row < length; ++row) {
      for (int64_t head = 0; head < setup.heads; ++head) {
        const auto expected = defined_output(sequence, row, head);
        const auto at = row * sequence.out_width + head * sequence.setup.v_head_dim;
        for (size_t d = 0; d < expected.size(); ++d)
          ASSERT_NEAR(got[static_cast<size_t>(at) + d], expected[d], bound)
              << setup.name() << " row " << row << " head " << head;
      }
    }
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
          << setup.name() << " cuts " << cuts.size();
    }
  }
}

TEST_P(AttentionOnIsa, ThreadsHeadsBesideAndOrderOfSlicesChangeNoBit) {
  // Two sequences in one cache, each a slice; and the second half of the heads alone, as a rank of
  // tp 2 has them.
  for (const Case& setup :
       {Case{},
        Case{.v_head_dim = 24, .softcap = 2.0f, .sinks = {0, 1, 2, -3, 0.5f, -1, 4, -0.25f}}}) {
    Sequence all(setup, 120, 9);
    const int64_t width = all.out_width;
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
      for (const auto& slices : {forward, backward}) {
        backend->kv_write(all.k(), all.stride, all.v(), all.stride, {&before, 1}, all.cache());
        backend->kv_write(all.k(), all.stride, all.v(), all.stride, slices, all.cache());
        std::vector<float> out(static_cast<size_t>(120 * width), 0.0f);
        backend->attention(all.q(), all.stride, slices, all.shape(), all.cache(), out.data());
        if (expected.empty()) expected = out;
        EXPECT_TRUE(same_bits(out, expected)) << threads;
      }
      AttentionShape half = all.shape();
      half.heads = 4;
      half.kv_of_head = half.kv_of_head.subspan(4);
      if (half.sinks != nullptr) half.sinks += 4;
      std::vector<float> out(static_cast<size_t>(120 * width / 2), 0.0f);
      backend->attention(all.q() + all.q_width / 2, all.stride, forward, half, all.cache(),
                         out.data());
      for (int64_t row = 0; row < 113; ++row)
        ASSERT_EQ(
            std::memcmp(out.data() + row * width / 2, expected.data() + row * width + width / 2,
                        static_cast<size_t>(width / 2) * sizeof(float)),
            0);
    }
  }
}

TEST_P(AttentionOnIsa, LaterKeysThatAreNanDoNotReachEarlierRows) {
  for (const Case& setup : {Case{},
                            {.heads = 2, .kv_of_head = {0, 1}},
                            {.v_head_dim = 17, .chunk = 40, .softcap = 1.0f},
                            {.heads = 2, .kv_of_head = {0, 1}, .sinks = {1, -2}}}) {
    const auto backend = make_cpu_backend(1, GetParam());
    Sequence clean(setup, 40, 12);
    const auto expected = clean.attend_in_chunks(*backend, {40});
    Sequence dirty(setup, 40, 12);
    for (int64_t d = 0; d < dirty.k_width; ++d) dirty.k()[25 * dirty.stride + d] = nan;
    for (int64_t d = 0; d < dirty.v_width; ++d)
      dirty.v()[25 * dirty.stride + d] = std::numeric_limits<float>::infinity();
    const auto got = dirty.attend_in_chunks(*backend, {40});
    const int64_t row = clean.out_width;
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), static_cast<size_t>(25 * row) * 4), 0);
    for (int64_t i = 25 * row; i < 26 * row; ++i)
      EXPECT_FALSE(std::isfinite(got[static_cast<size_t>(i)]));
  }
}

TEST_P(AttentionOnIsa, KeysOfAnotherChunkDoNotReachARow) {
  const auto backend = make_cpu_backend(2, GetParam());
  const Case setup{.page_tokens = 8, .chunk = 20};
  Sequence clean(setup, 50, 16);
  const auto expected = clean.attend_in_chunks(*backend, {50});
  Sequence dirty(setup, 50, 16);
  for (int64_t position = 0; position < 40; ++position)
    for (int64_t d = 0; d < dirty.k_width + dirty.v_width; ++d)
      dirty.k()[position * dirty.stride + d] = nan;
  const auto got = dirty.attend_in_chunks(*backend, {50});
  const auto from = static_cast<ptrdiff_t>(40 * clean.out_width);
  EXPECT_TRUE(std::isnan(got[0]));
  EXPECT_TRUE(std::equal(got.begin() + from, got.end(), expected.begin() + from));
}

TEST_P(AttentionOnIsa, SinksTakeWeightAndASinkOfMinusInfinityTakesNone) {
  const auto backend = make_cpu_backend(1, GetParam());
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const Case plain{.heads = 2, .kv_of_head = {0, 1}};
  Case with_sinks = plain;
  with_sinks.sinks = {-infinity, 1e30f};
  Sequence a(plain, 40, 17);
  Sequence b(with_sinks, 40, 17);
  const auto expected = a.attend_in_chunks(*backend, {40});
  const auto got = b.attend_in_chunks(*backend, {40});
  for (size_t i = 0; i < got.size(); ++i) {
    const bool first_head = i % 64 < 32;
    ASSERT_EQ(got[i], first_head ? expected[i] : 0.0f);
  }
}

TEST_P(AttentionOnIsa, LargeScoresDoNotOverflow) {
  const auto backend = make_cpu_backend(1, GetParam());
  for (const float softcap : {0.0f, 50.0f}) {
    Sequence sequence(Case{.softcap = softcap, .dtype = DType::f32}, 50, 13);
    for (int64_t row = 0; row < 50; ++row)
      for (int64_t d = 0; d < sequence.q_width + sequence.k_width; ++d)
        sequence.rows[static_cast<size_t>(row * sequence.stride + d)] *= 1e4f;
    for (const float x : sequence.attend_in_chunks(*backend, {50})) {
      EXPECT_TRUE(std::isfinite(x));
      EXPECT_LE(std::abs(x), 1.0001f);
    }
  }
}

TEST_P(AttentionOnIsa, NoHeadsNoTokensAndNoSlicesAreNothingToDo) {
  const auto backend = make_cpu_backend(2, GetParam());
  Sequence sequence(Case{}, 10, 14);
  const int64_t stride = sequence.stride;
  float untouched = 7.0f;
  backend->attention(sequence.q(), stride, {}, sequence.shape(), sequence.cache(), &untouched);
  const AttentionSlice empty{0, 0, 5, sequence.pages};
  backend->attention(sequence.q(), stride, {&empty, 1}, sequence.shape(), sequence.cache(),
                     &untouched);
  backend->kv_write(sequence.k(), stride, sequence.v(), stride, {&empty, 1}, sequence.cache());
  const AttentionSlice slice{0, 3, 0, sequence.pages};
  AttentionShape no_heads = sequence.shape();
  no_heads.heads = 0;
  no_heads.kv_of_head = {};
  backend->attention(sequence.q(), stride, {&slice, 1}, no_heads, sequence.cache(), &untouched);
  KvLayer no_cache = sequence.cache();
  no_cache.kv_heads = 0;
  backend->attention(sequence.q(), stride, {&slice, 1}, no_heads, no_cache, &untouched);
  backend->kv_write(sequence.k(), 0, sequence.v(), 0, {&slice, 1}, no_cache);
  EXPECT_EQ(untouched, 7.0f);
}

// Widening is exact: what an fp8 cache changes is what rounding k and v to it changes.
TEST_P(AttentionOnIsa, OfAnFp8CacheIsThatOfRoundedKeysAndValues) {
  const auto backend = make_cpu_backend(2, GetParam());
  for (Case setup : attention_cases()) {
    setup.dtype = DType::fp8;
    Sequence stored(setup, 75, 21);
    stored.k()[3] = 1e4f;  // saturates
    stored.v()[2] = -1e-3f;
    setup.dtype = DType::f32;
    Sequence rounded(setup, 75, 21);
    rounded.rows = stored.rows;
    for (int64_t row = 0; row < rounded.length; ++row) {
      float* const kv = rounded.k() + row * rounded.stride;
      for (int64_t i = 0; i < rounded.k_width + rounded.v_width; ++i) {
        kv[i] = float_from_fp8(fp8_from_float(kv[i]));
      }
    }
    EXPECT_TRUE(same_bits(stored.attend_in_chunks(*backend, {30, 75}),
                          rounded.attend_in_chunks(*backend, {30, 75})))
        << setup.name();
  }
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
