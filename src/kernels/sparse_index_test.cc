// The index of sparse attention on every instruction set: its scores have the reference's bits
// however queries are cut and spread, and the choice is that of a sort.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/compare_floats.h"
#include "kernels/random_data.h"

namespace dure {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float untouched = 1234.5f;

struct Case {
  int64_t heads = 4;
  int64_t dim = 32;
  int64_t page_tokens = 16;
  DType dtype = DType::bf16;
};

// One sequence with random index queries, weights and keys of `length` tokens, its pages in reverse
// over a cache whose other contents are NaN.
struct Sequence {
  Sequence(const Case& s, int64_t length_in, uint32_t seed)
      : setup(s),
        length(length_in),
        q(random_floats(length * s.heads * s.dim, seed)),
        weights(random_floats(length * s.heads, seed + 1)),
        keys(random_floats(length * s.dim, seed + 2)) {
    const int64_t count = (length + s.page_tokens - 1) / s.page_tokens;
    for (int64_t i = 0; i < count; ++i) pages.push_back(static_cast<int32_t>(count - 1 - i));
    bytes.assign(static_cast<size_t>(count * page_bytes()), 0xff);
  }

  LatentLayer cache() {
    return {bytes.data(), setup.dtype, setup.page_tokens, setup.dim, 0, page_bytes()};
  }
  int64_t page_bytes() const { return setup.page_tokens * setup.dim * bytes_of(setup.dtype); }

  // Rows are positions; cuts in rising order, the last one the length. [length][length + 3]
  std::vector<float> score_in_chunks(Backend& backend, const std::vector<int64_t>& cuts) {
    std::vector<float> scores(static_cast<size_t>(length * (length + 3)), untouched);
    int64_t from = 0;
    for (const int64_t to : cuts) {
      const AttentionSlice slice{from, to - from, from, pages};
      backend.latent_write(keys.data(), setup.dim, {&slice, 1}, cache());
      backend.index_scores(q.data(), setup.heads * setup.dim, weights.data(), setup.heads,
                           {&slice, 1}, cache(), scores.data(), length + 3);
      from = to;
    }
    return scores;
  }

  Case setup;
  int64_t length;
  std::vector<float> q, weights, keys;
  std::vector<int32_t> pages;
  std::vector<uint8_t> bytes;
};

std::vector<Case> index_cases() {
  return {{},
          {.dtype = DType::f32},
          {.dtype = DType::f16},
          {.dtype = DType::fp8},
          {.heads = 64, .dim = 128},
          {.heads = 1},
          {.heads = 7, .dim = 20},  // no multiples of the lanes or of a tile
          {.dim = 3, .page_tokens = 1},
          {.heads = 9, .page_tokens = 8, .dtype = DType::f32},
          {.page_tokens = 24},
          {.page_tokens = 64, .dtype = DType::f16}};
}

class IndexOnIsa : public testing::TestWithParam<std::string_view> {};

TEST_P(IndexOnIsa, ScoresGiveTheReferenceBits) {
  const auto reference = make_cpu_backend(1, "reference");
  for (const int threads : {1, 3}) {
    const auto backend = make_cpu_backend(threads, GetParam());
    for (const Case& setup : index_cases()) {
      Sequence a(setup, 75, 1);
      Sequence b(setup, 75, 1);
      const auto expected = a.score_in_chunks(*reference, {75});
      EXPECT_TRUE(same_bits(b.score_in_chunks(*backend, {75}), expected));
      EXPECT_EQ(a.bytes, b.bytes);
    }
  }
}

TEST_P(IndexOnIsa, LongSequencesAreScoredInRunsThatChangeNoBit) {
  const auto reference = make_cpu_backend(1, "reference");
  const auto backend = make_cpu_backend(3, GetParam());
  const Case setup{.heads = 2, .dim = 17, .page_tokens = 24};
  Sequence a(setup, 1100, 5);
  Sequence b(setup, 1100, 5);
  const auto expected = a.score_in_chunks(*reference, {1100});
  EXPECT_TRUE(same_bits(b.score_in_chunks(*backend, {1, 600, 1099, 1100}), expected));
}

TEST_P(IndexOnIsa, ScoresFollowTheDefinitionInDoubleAndLaterElementsStay) {
  const auto backend = make_cpu_backend(2, GetParam());
  for (Case setup : index_cases()) {
    setup.dtype = DType::f32;
    const int64_t length = 40;
    Sequence s(setup, length, 2);
    const auto got = s.score_in_chunks(*backend, {length});
    // A product: dim / 16 + 5 roundings of sums below dim; the sum over heads: one each of sums
    // below heads * dim. |weight| <= 1.
    const auto dim = static_cast<double>(setup.dim);
    const auto heads = static_cast<double>(setup.heads);
    const double bound = (heads * dim * (dim / 16 + 5) + heads * heads * dim) * 0x1p-24;
    for (int64_t row = 0; row < length; ++row) {
      for (int64_t key = 0; key < length + 3; ++key) {
        const float score = got[static_cast<size_t>(row * (length + 3) + key)];
        if (key > row) {
          ASSERT_EQ(score, untouched);
          continue;
        }
        double exact = 0.0;
        for (int64_t head = 0; head < setup.heads; ++head) {
          double dot = 0.0;
          for (int64_t d = 0; d < setup.dim; ++d)
            dot += static_cast<double>(
                       s.q[static_cast<size_t>((row * setup.heads + head) * setup.dim + d)]) *
                   static_cast<double>(s.keys[static_cast<size_t>(key * setup.dim + d)]);
          exact += static_cast<double>(s.weights[static_cast<size_t>(row * setup.heads + head)]) *
                   std::max(dot, 0.0);
        }
        ASSERT_NEAR(score, exact, bound) << "row " << row << " key " << key;
      }
    }
  }
}

TEST_P(IndexOnIsa, ChunksOfAPrefillAndSingleDecodesGiveTheBitsOfTheWhole) {
  const auto backend = make_cpu_backend(2, GetParam());
  for (const Case& setup : index_cases()) {
    Sequence whole(setup, 75, 4);
    const auto expected = whole.score_in_chunks(*backend, {75});
    std::vector<int64_t> single(75);
    std::iota(single.begin(), single.end(), 1);
    for (const std::vector<int64_t>& cuts : {single, {1, 2, 20, 75}, {74, 75}}) {
      Sequence chunked(setup, 75, 4);
      EXPECT_TRUE(same_bits(chunked.score_in_chunks(*backend, cuts), expected));
    }
  }
}

TEST_P(IndexOnIsa, ANanKeyShowsInItsOwnScoresAndInNoOther) {
  const auto backend = make_cpu_backend(2, GetParam());
  Sequence clean({}, 40, 6);
  Sequence dirty({}, 40, 6);
  for (int64_t d = 0; d < dirty.setup.dim; ++d)
    dirty.keys[static_cast<size_t>(25 * dirty.setup.dim + d)] = nan;
  const auto expected = clean.score_in_chunks(*backend, {40});
  const auto got = dirty.score_in_chunks(*backend, {40});
  for (int64_t row = 0; row < 40; ++row) {
    for (int64_t key = 0; key <= row; ++key) {
      const auto at = static_cast<size_t>(row * 43 + key);
      if (key == 25) {
        EXPECT_TRUE(std::isnan(got[at]));
      } else {
        EXPECT_EQ(got[at], expected[at]);
      }
    }
  }
}

// What select_keys promises, by a stable sort.
std::vector<uint64_t> sorted_choice(const float* scores, int64_t count, int64_t top_k,
                                    int64_t words) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return scores[a] > scores[b] || (std::isnan(scores[b]) && !std::isnan(scores[a]));
  });
  std::vector<uint64_t> selected(static_cast<size_t>(words), 0);
  for (int64_t i = 0; i < std::min(count, top_k); ++i) {
    const int64_t key = order[static_cast<size_t>(i)];
    selected[static_cast<size_t>(key / 64)] |= uint64_t{1} << (key % 64);
  }
  return selected;
}

TEST_P(IndexOnIsa, SelectsTheHighestAndOfEqualOnesTheFirst) {
  const int64_t length = 200, stride = 205, words = 5;
  auto smooth = random_floats(length * stride, 7);
  auto ties = smooth;
  for (float& x : ties) x = std::round(x * 3.0f) / 2.0f;  // zeros of both signs
  auto odd = ties;
  for (size_t i = 0; i < odd.size(); i += 3)
    odd[i] = i % 5 == 0 ? nan : i % 5 == 1 ? infinity : i % 5 == 2 ? -infinity : odd[i];
  std::vector<int32_t> pages(13);
  for (const auto& scores : {smooth, ties, odd}) {
    for (const int64_t top_k : {0, 1, 2, 50, 63, 64, 199, 200, 2048}) {
      for (const int threads : {1, 3}) {
        const auto backend = make_cpu_backend(threads, GetParam());
        std::vector<uint64_t> selected(static_cast<size_t>(length * words), ~uint64_t{0});
        // In two slices, the later positions first.
        const AttentionSlice slices[] = {{60, 140, 60, pages}, {0, 60, 0, pages}};
        backend->select_keys(scores.data(), stride, slices, top_k, selected.data(), words);
        for (int64_t row = 0; row < length; ++row) {
          const auto expected = sorted_choice(scores.data() + row * stride, row + 1, top_k, words);
          ASSERT_TRUE(std::equal(expected.begin(), expected.end(), selected.begin() + row * words))
              << "row " << row << " top " << top_k;
        }
      }
    }
  }
}

TEST_P(IndexOnIsa, SparseAttentionInChunksGivesTheBitsOfTheWhole) {
  // Index, choice and attention in a row, as a layer does it.
  constexpr int64_t length = 100, heads = 6, latent = 24, rope = 8, words = 2, top_k = 20;
  const auto q = random_floats(length * heads * (latent + rope), 21);
  const auto rows = random_floats(length * (latent + rope), 22);
  const auto attend = [&](Backend& backend, const std::vector<int64_t>& cuts) {
    Sequence index({}, length, 20);
    std::vector<uint8_t> bytes(static_cast<size_t>(7 * 16 * (latent + rope) * 2), 0xff);
    const LatentLayer cache{bytes.data(), DType::bf16, 16, latent, rope, 16 * (latent + rope) * 2};
    std::vector<float> scores(length * length);
    std::vector<uint64_t> selected(length * words);
    std::vector<float> out(static_cast<size_t>(length * heads * latent));
    int64_t from = 0;
    for (const int64_t to : cuts) {
      const AttentionSlice slice{from, to - from, from, index.pages};
      backend.latent_write(rows.data(), latent + rope, {&slice, 1}, cache);
      backend.latent_write(index.keys.data(), index.setup.dim, {&slice, 1}, index.cache());
      backend.index_scores(index.q.data(), index.setup.heads * index.setup.dim,
                           index.weights.data(), index.setup.heads, {&slice, 1}, index.cache(),
                           scores.data(), length);
      backend.select_keys(scores.data(), length, {&slice, 1}, top_k, selected.data(), words);
      const LatentShape shape{heads, 0.2f, selected.data(), words};
      backend.latent_attention(q.data(), heads * (latent + rope), {&slice, 1}, shape, cache,
                               out.data());
      from = to;
    }
    return out;
  };
  const auto expected = attend(*make_cpu_backend(2, GetParam()), {length});
  for (const float x : expected) ASSERT_TRUE(std::isfinite(x));
  std::vector<int64_t> single(length);
  std::iota(single.begin(), single.end(), 1);
  EXPECT_TRUE(same_bits(attend(*make_cpu_backend(1, GetParam()), single), expected));
  EXPECT_TRUE(same_bits(attend(*make_cpu_backend(5, GetParam()), {33, 70, length}), expected));
}

TEST_P(IndexOnIsa, NoHeadsNoTokensAndNoSlicesAreNothingToDo) {
  const auto backend = make_cpu_backend(2, GetParam());
  Sequence s({}, 10, 14);
  const auto words = std::vector<uint64_t>(1, 7);
  std::vector<float> scores(10, untouched);
  std::vector<uint64_t> selected = words;
  const AttentionSlice empty{0, 0, 5, s.pages};
  for (const auto& slices : {std::vector<AttentionSlice>{}, std::vector{empty}}) {
    backend->index_scores(s.q.data(), 128, s.weights.data(), 4, slices, s.cache(), scores.data(),
                          10);
    backend->select_keys(scores.data(), 10, slices, 3, selected.data(), 1);
  }
  EXPECT_EQ(scores, std::vector<float>(10, untouched));
  EXPECT_EQ(selected, words);
  // Without heads every score is an empty sum.
  const AttentionSlice slice{0, 1, 0, s.pages};
  backend->latent_write(s.keys.data(), s.setup.dim, {&slice, 1}, s.cache());
  backend->index_scores(s.q.data(), 128, s.weights.data(), 0, {&slice, 1}, s.cache(), scores.data(),
                        10);
  EXPECT_EQ(scores[0], 0.0f);
}

INSTANTIATE_TEST_SUITE_P(, IndexOnIsa, testing::ValuesIn(cpu_isas()), [](const auto& info) {
  std::string name(info.param);
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace dure
