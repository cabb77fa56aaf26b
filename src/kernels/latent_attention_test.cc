// Latent attention and its cache writes on every instruction set: against the reference and the
// definition, and the same bits however queries are cut, ordered, and spread.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
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
  int64_t latent = 32;
  int64_t rope = 16;
  int64_t page_tokens = 16;
  DType dtype = DType::bf16;
  int sparse = 0;  // a key is seen with probability 1 / sparse, its own row always; 0: all are

  std::string name() const {
    return "heads " + std::to_string(heads) + " latent " + std::to_string(latent) + " rope " +
           std::to_string(rope) + " page " + std::to_string(page_tokens) + " " +
           std::string(to_string(dtype)) + " sparse " + std::to_string(sparse);
  }
};

// One sequence with random rows [q of all heads | row to cache] of `length` tokens, its pages in
// reverse over a cache whose other contents are NaN.
struct Sequence {
  Sequence(const Case& s, int64_t length_in, uint32_t seed) : setup(s), length(length_in) {
    width = s.latent + s.rope;
    stride = (s.heads + 1) * width;
    rows = random_floats(length * stride, seed);
    const int64_t count = (length + s.page_tokens - 1) / s.page_tokens;
    for (int64_t i = 0; i < count; ++i) pages.push_back(static_cast<int32_t>(count - 1 - i));
    bytes.assign(static_cast<size_t>(count * page_bytes()), 0xff);
    words = length / 64 + 1;
    if (s.sparse == 0) return;
    std::mt19937 generator(seed + 1);
    selected.assign(static_cast<size_t>(length * words), 0);
    for (int64_t row = 0; row < length; ++row)
      for (int64_t t = 0; t < words * 64; ++t)  // bits beyond the row's own say nothing
        if (t == row || generator() % static_cast<uint32_t>(s.sparse) == 0)
          selected[static_cast<size_t>(row * words + t / 64)] |= uint64_t{1} << (t % 64);
  }

  const float* cached_row(int64_t position) const {
    return rows.data() + position * stride + setup.heads * width;
  }
  float* cached_row(int64_t position) {
    return rows.data() + position * stride + setup.heads * width;
  }
  bool sees(int64_t row, int64_t key) const {
    return key <= row &&
           (selected.empty() ||
            (selected[static_cast<size_t>(row * words + key / 64)] >> (key % 64) & 1) != 0);
  }

  int64_t page_bytes() const {  // 64 of them are another layer's
    return setup.page_tokens * width * bytes_of(setup.dtype) + 64;
  }
  LatentLayer cache() {
    return {bytes.data(), setup.dtype, setup.page_tokens, setup.latent, setup.rope, page_bytes()};
  }
  LatentShape shape() const {
    return {setup.heads, 1.0f / std::sqrt(static_cast<float>(width)),
            selected.empty() ? nullptr : selected.data(), words};
  }

  // Rows are positions; cuts in rising order, the last one the length.
  std::vector<float> attend_in_chunks(Backend& backend, const std::vector<int64_t>& cuts) {
    std::vector<float> out(static_cast<size_t>(length * setup.heads * setup.latent), nan);
    int64_t from = 0;
    for (const int64_t to : cuts) {
      const AttentionSlice slice{from, to - from, from, pages};
      backend.latent_write(cached_row(0), stride, {&slice, 1}, cache());
      backend.latent_attention(rows.data(), stride, {&slice, 1}, shape(), cache(), out.data());
      from = to;
    }
    return out;
  }

  Case setup;
  int64_t length, width, stride;
  std::vector<float> rows;
  std::vector<int32_t> pages;
  std::vector<uint8_t> bytes;
  std::vector<uint64_t> selected;
  int64_t words;
};

std::vector<Case> latent_cases() {
  return {{},
          {.dtype = DType::f32},
          {.dtype = DType::f16},
          {.dtype = DType::fp8},
          {.latent = 21, .rope = 6, .page_tokens = 24, .dtype = DType::fp8, .sparse = 3},
          {.latent = 512, .rope = 64},
          {.latent = 20, .rope = 5},  // no multiples of the lanes
          {.latent = 7, .rope = 30, .dtype = DType::f16},
          {.latent = 40, .rope = 0, .dtype = DType::f32},
          {.latent = 1, .rope = 1},
          {.page_tokens = 8},
          {.page_tokens = 1, .dtype = DType::f16},
          {.page_tokens = 24},
          {.page_tokens = 64, .dtype = DType::f32},
          {.heads = 1},
          {.heads = 3, .latent = 33},
          {.heads = 5},
          {.heads = 20},  // a pass of 16 heads, then passes of 4 heads and 4 rows
          {.heads = 40, .latent = 16, .rope = 4},
          {.sparse = 2},
          {.heads = 20, .page_tokens = 8, .sparse = 12},  // most blocks have none
          {.heads = 3, .latent = 21, .page_tokens = 24, .dtype = DType::f32, .sparse = 5},
          {.heads = 16, .page_tokens = 1, .sparse = 3}};
}

// Both sides do the same operations but for exp, which differs by at most e = 2^-22.6 + 2^-23 <
// 2^-21.7 of itself; the bound is that of attention without a cap. |value| <= 1.
double bound_of(const Case& setup, int64_t keys) {
  const int64_t whole = keys / setup.page_tokens;
  const double blocks = static_cast<double>(whole + 2);
  return 2 * (blocks + 1) * 0x1p-21 * 0.62 + 4 * (static_cast<double>(keys) + blocks) * 0x1p-24;
}

class LatentOnIsa : public testing::TestWithParam<std::string_view> {};

TEST_P(LatentOnIsa, StaysWithinTheDerivedBoundOfTheReference) {
  const auto reference = make_cpu_backend(1, "reference");
  const auto backend = make_cpu_backend(2, GetParam());
  for (const Case& setup : latent_cases()) {
    const int64_t length = 75;
    Sequence a(setup, length, 1);
    Sequence b(setup, length, 1);
    const auto expected = a.attend_in_chunks(*reference, {length});
    const auto got = b.attend_in_chunks(*backend, {length});
    EXPECT_EQ(a.bytes, b.bytes);
    const double bound = bound_of(setup, length);
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], bound) << setup.name();
  }
}

// Output (row, head) by the definition, in double, from fp32 rows.
std::vector<double> defined_output(const Sequence& s, int64_t row, int64_t head) {
  std::vector<double> value(static_cast<size_t>(s.setup.latent), 0.0);
  const float* q = s.rows.data() + row * s.stride + head * s.width;
  double sum = 0.0;
  for (int64_t key = 0; key <= row; ++key) {
    if (!s.sees(row, key)) continue;
    double score = 0.0;
    for (int64_t d = 0; d < s.width; ++d)
      score += static_cast<double>(q[d]) * static_cast<double>(s.cached_row(key)[d]);
    const double weight = std::exp(score * static_cast<double>(s.shape().scale));
    sum += weight;
    for (size_t d = 0; d < value.size(); ++d)
      value[d] += weight * static_cast<double>(s.cached_row(key)[d]);
  }
  for (double& x : value) x /= sum;
  return value;
}

// To the bound above come the products' own errors: width / 16 + 5 roundings of sums below width,
// times the scale; a weight feels twice that, the quotient twice more.
TEST_P(LatentOnIsa, FollowsTheDefinitionInDouble) {
  const auto backend = make_cpu_backend(2, GetParam());
  for (Case setup : latent_cases()) {
    setup.dtype = DType::f32;
    const int64_t length = 43;
    Sequence sequence(setup, length, 30);
    const auto got = sequence.attend_in_chunks(*backend, {length});
    const auto width = static_cast<double>(sequence.width);
    const double bound = bound_of(setup, length) + 4 * (width / 16 + 5) * width * 0x1p-24 *
                                                       static_cast<double>(sequence.shape().scale);
    for (int64_t row = 0; row < length; ++row) {
      for (int64_t head = 0; head < setup.heads; ++head) {
        const auto expected = defined_output(sequence, row, head);
        const auto at = static_cast<size_t>((row * setup.heads + head) * setup.latent);
        for (size_t d = 0; d < expected.size(); ++d)
          ASSERT_NEAR(got[at + d], expected[d], bound)
              << setup.name() << " row " << row << " head " << head;
      }
    }
  }
}

TEST_P(LatentOnIsa, ChunksOfAPrefillAndSingleDecodesGiveTheBitsOfTheWhole) {
  const auto backend = make_cpu_backend(2, GetParam());
  for (const Case& setup : latent_cases()) {
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

TEST_P(LatentOnIsa, ThreadsHeadsBesideAndOrderOfSlicesChangeNoBit) {
  // Two sequences in one cache, each a slice; and the second half of the heads alone, as a rank of
  // tp 2 has them.
  for (const Case& setup : {Case{}, Case{.heads = 40, .sparse = 3}}) {
    Sequence all(setup, 120, 9);
    const int64_t width = setup.heads * setup.latent;
    std::vector<int32_t> first(all.pages.begin(), all.pages.begin() + 3);
    std::vector<int32_t> second(all.pages.begin() + 3, all.pages.end());
    const AttentionSlice a{0, 43, 0, first};
    const AttentionSlice b{43, 70, 3, second};  // three positions were cached before
    const AttentionSlice before{113, 3, 0, second};
    for (int64_t row = 0; row < 120; ++row)  // whatever the positions, a row sees the first key
      if (setup.sparse != 0) all.selected[static_cast<size_t>(row * all.words)] |= 1;
    std::vector<float> expected;
    for (int threads : {1, 2, 5}) {
      const auto backend = make_cpu_backend(threads, GetParam());
      for (const auto& slices : {std::vector{a, b}, std::vector{b, a}}) {
        backend->latent_write(all.cached_row(0), all.stride, {&before, 1}, all.cache());
        backend->latent_write(all.cached_row(0), all.stride, slices, all.cache());
        std::vector<float> out(static_cast<size_t>(120 * width), 0.0f);
        backend->latent_attention(all.rows.data(), all.stride, slices, all.shape(), all.cache(),
                                  out.data());
        if (expected.empty()) expected = out;
        EXPECT_TRUE(same_bits(out, expected)) << threads;
      }
      LatentShape half = all.shape();
      half.heads /= 2;
      std::vector<float> out(static_cast<size_t>(120 * width / 2), 0.0f);
      backend->latent_attention(all.rows.data() + half.heads * all.width, all.stride,
                                std::vector{a, b}, half, all.cache(), out.data());
      for (int64_t row = 0; row < 113; ++row)
        ASSERT_EQ(
            std::memcmp(out.data() + row * width / 2, expected.data() + row * width + width / 2,
                        static_cast<size_t>(width / 2) * sizeof(float)),
            0);
    }
  }
}

TEST_P(LatentOnIsa, LaterRowsThatAreNanDoNotReachEarlierQueries) {
  for (const Case& setup : {Case{}, Case{.heads = 1}, Case{.heads = 20, .sparse = 2}}) {
    const auto backend = make_cpu_backend(1, GetParam());
    Sequence clean(setup, 40, 12);
    const auto expected = clean.attend_in_chunks(*backend, {40});
    Sequence dirty(setup, 40, 12);
    std::fill_n(dirty.cached_row(25), dirty.width, nan);
    const auto got = dirty.attend_in_chunks(*backend, {40});
    const int64_t row = setup.heads * setup.latent;
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), static_cast<size_t>(25 * row) * 4), 0);
    for (int64_t i = 25 * row; i < 26 * row; ++i)
      EXPECT_TRUE(std::isnan(got[static_cast<size_t>(i)]));
  }
}

TEST_P(LatentOnIsa, UnselectedRowsReachNothingEvenAsNan) {
  const auto backend = make_cpu_backend(2, GetParam());
  for (const int64_t page_tokens : {1, 8, 16, 24}) {
    const Case setup{.heads = 5, .page_tokens = page_tokens, .sparse = 4};
    Sequence clean(setup, 90, 17);
    Sequence dirty(setup, 90, 17);
    // The last row's selection for all rows, but for their own; what nobody selects becomes NaN.
    for (int64_t key = 0; key < 90; ++key) {
      const bool used = key >= 80 || clean.sees(89, key);
      for (Sequence* s : {&clean, &dirty}) {
        for (int64_t row = 80; row < 90; ++row) {
          uint64_t& word = s->selected[static_cast<size_t>(row * s->words + key / 64)];
          const uint64_t bit = uint64_t{1} << (key % 64);
          word = used ? word | bit : word & ~bit;
        }
      }
      if (!used) std::fill_n(dirty.cached_row(key), dirty.width, nan);
    }
    const auto expected = clean.attend_in_chunks(*backend, {90});
    const auto got = dirty.attend_in_chunks(*backend, {90});
    const auto from = static_cast<ptrdiff_t>(80 * setup.heads * setup.latent);
    EXPECT_TRUE(std::equal(got.begin() + from, got.end(), expected.begin() + from));
    EXPECT_TRUE(std::none_of(got.begin() + from, got.end(), [](float x) { return std::isnan(x); }));
  }
}

TEST_P(LatentOnIsa, ASelectionGivesTheBitsOfASequenceOfTheSelectedRowsAlone) {
  const auto backend = make_cpu_backend(2, GetParam());
  for (const int64_t page_tokens : {1, 8, 16, 24}) {
    Sequence all({.heads = 5, .page_tokens = page_tokens, .sparse = 4}, 200, 19);
    const int64_t last = 199;
    std::vector<int64_t> seen;
    for (int64_t key = 0; key <= last; ++key)
      if (all.sees(last, key)) seen.push_back(key);
    const auto count = static_cast<int64_t>(seen.size());
    Sequence few({.heads = 5, .page_tokens = page_tokens}, count, 20);
    for (int64_t i = 0; i < count; ++i)
      std::copy_n(all.rows.data() + seen[static_cast<size_t>(i)] * all.stride, all.stride,
                  few.rows.data() + i * few.stride);
    const int64_t row = 5 * all.setup.latent;
    const auto expected = few.attend_in_chunks(*backend, {count});
    const auto got = all.attend_in_chunks(*backend, {200});
    EXPECT_TRUE(std::equal(got.end() - row, got.end(), expected.end() - row)) << page_tokens;
  }
}

TEST_P(LatentOnIsa, SelectingAllGivesTheBitsOfNoSelection) {
  const auto backend = make_cpu_backend(2, GetParam());
  for (const int64_t heads : {1, 8, 20}) {
    Sequence plain({.heads = heads}, 70, 18);
    Sequence selecting({.heads = heads, .sparse = 1}, 70, 18);
    EXPECT_TRUE(same_bits(selecting.attend_in_chunks(*backend, {70}),
                          plain.attend_in_chunks(*backend, {70})));
  }
}

TEST_P(LatentOnIsa, LargeScoresDoNotOverflow) {
  const auto backend = make_cpu_backend(1, GetParam());
  Sequence sequence({.dtype = DType::f32}, 50, 13);
  for (int64_t row = 0; row < 50; ++row)
    for (int64_t d = 0; d < sequence.setup.heads * sequence.width; ++d)
      sequence.rows[static_cast<size_t>(row * sequence.stride + d)] *= 1e8f;
  for (const float x : sequence.attend_in_chunks(*backend, {50})) {
    EXPECT_TRUE(std::isfinite(x));
    EXPECT_LE(std::abs(x), 1.0001f);
  }
}

TEST_P(LatentOnIsa, NoHeadsNoTokensAndNoSlicesAreNothingToDo) {
  const auto backend = make_cpu_backend(2, GetParam());
  Sequence s({}, 10, 14);
  float untouched = 7.0f;
  backend->latent_attention(s.rows.data(), s.stride, {}, s.shape(), s.cache(), &untouched);
  const AttentionSlice empty{0, 0, 5, s.pages};
  backend->latent_write(s.cached_row(0), s.stride, {&empty, 1}, s.cache());
  backend->latent_attention(s.rows.data(), s.stride, {&empty, 1}, s.shape(), s.cache(), &untouched);
  const AttentionSlice slice{0, 3, 0, s.pages};
  LatentShape no_heads = s.shape();
  no_heads.heads = 0;
  backend->latent_attention(s.rows.data(), s.stride, {&slice, 1}, no_heads, s.cache(), &untouched);
  EXPECT_EQ(untouched, 7.0f);
  for (const uint8_t byte : s.bytes) ASSERT_EQ(byte, 0xff);
}

TEST_P(LatentOnIsa, OfAnFp8CacheIsThatOfRoundedRows) {
  const auto backend = make_cpu_backend(2, GetParam());
  for (Case setup : latent_cases()) {
    setup.dtype = DType::fp8;
    Sequence stored(setup, 75, 21);
    stored.cached_row(2)[3] = -1e4f;  // saturates
    setup.dtype = DType::f32;
    Sequence rounded(setup, 75, 21);
    rounded.rows = stored.rows;
    for (int64_t row = 0; row < rounded.length; ++row) {
      float* const at = rounded.cached_row(row);
      for (int64_t i = 0; i < rounded.width; ++i) at[i] = float_from_fp8(fp8_from_float(at[i]));
    }
    EXPECT_TRUE(same_bits(stored.attend_in_chunks(*backend, {30, 75}),
                          rounded.attend_in_chunks(*backend, {30, 75})))
        << setup.name();
  }
}

INSTANTIATE_TEST_SUITE_P(, LatentOnIsa, testing::ValuesIn(cpu_isas()), [](const auto& info) {
  std::string name(info.param);
  std::erase(name, '-');
  return name;
});

TEST(LatentAttention, Avx2AndAvx512GiveTheSameBits) {
  const auto isas = cpu_isas();
  if (std::find(isas.begin(), isas.end(), "avx512") == isas.end())
    GTEST_SKIP() << "this CPU has no AVX-512";
  for (const Case& setup : latent_cases()) {
    Sequence a(setup, 75, 15);
    Sequence b(setup, 75, 15);
    EXPECT_TRUE(same_bits(a.attend_in_chunks(*make_cpu_backend(1, "avx2"), {75}),
                          b.attend_in_chunks(*make_cpu_backend(2, "avx512"), {40, 75})))
        << setup.name();
  }
}

}  // namespace
}  // namespace dure
