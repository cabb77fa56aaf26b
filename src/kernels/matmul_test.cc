// Products of every instruction set against the reference, and against themselves with other rows,
// threads and splits.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <iostream>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/compare_floats.h"
#include "kernels/product_cases.h"
#include "kernels/random_data.h"
#include "kernels/sum_order.h"
#include "tensor/float_bits.h"

namespace dure {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// Sum of |x w| of one output, in double: what rounding errors are proportional to.
double magnitude(const float* x, const PackedMatrix& w, int64_t output) {
  // The matrix times a unit vector gives its column; cheaper: read the packed form back.
  const PackedShape& shape = w.shape();
  const auto* bits = reinterpret_cast<const uint16_t*>(w.data());
  int64_t base = output / panel_width * shape.padded_k() * panel_width;
  double sum = 0.0;
  for (const int64_t length : shape.segments) {
    for (int64_t i = 0; i < length; ++i) {
      const int64_t at = base + (i / 2 * panel_width + output % panel_width) * 2 + i % 2;
      sum += std::abs(static_cast<double>(x[i]) * static_cast<double>(float_from_bf16(bits[at])));
    }
    x += length;
    base += (length + 1) / 2 * 2 * panel_width;
  }
  return sum;
}

struct Case {
  int64_t n;
  std::vector<int64_t> segments;
};

std::vector<Case> cases() {
  return {{1, {1}},
          {5, {7}},
          {32, {64}},
          {33, {65}},
          {100, pieces(301, 8)},
          {64, pieces(96, 2)},
          {70, pieces(50, 4)},
          {31, pieces(77, 3)},
          {40, pieces(90, 5)},
          {40, pieces(91, 6)},
          {40, pieces(92, 7)},
          {96, pieces(5, 8)},  // some segments are empty
          {7, {0, 0, 3, 0}},
          {3, {0}},
          {16, pieces(400, 19)}};
}

class MatmulOnIsa : public testing::TestWithParam<std::string_view> {
 protected:
  bool pairs_in_hardware() const { return GetParam() == "avx512-bf16"; }
};

TEST_P(MatmulOnIsa, GivesTheReferenceBitsInFp32ForEveryTypeShapeAndBias) {
  const auto reference = make_cpu_backend(1, "reference");
  const auto backend = make_cpu_backend(2, GetParam());
  EXPECT_EQ(backend->isa(), GetParam());
  for (const Case& c : cases()) {
    for (DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      const PackedMatrix w = random_matrix({c.n, c.segments, dtype, PanelOrder::plain}, 1);
      const auto bias = random_floats(c.n, 2);
      for (int64_t rows : {1, 2, 3, 5, 12, 13, 29}) {
        const auto x = random_floats(rows * w.shape().k(), 3);
        for (const float* b : {static_cast<const float*>(nullptr), bias.data()}) {
          ASSERT_TRUE(same_bits(multiply(*backend, x, rows, w, Compute::fp32, b),
                                multiply(*reference, x, rows, w, Compute::fp32, b)))
              << "n " << c.n << " k " << w.shape().k() << " rows " << rows << " "
              << to_string(dtype);
          // Inputs rounded to bf16, products in fp32.
          if (!pairs_in_hardware() || dtype != DType::bf16) {
            ASSERT_TRUE(same_bits(multiply(*backend, x, rows, w, Compute::bf16, b),
                                  multiply(*reference, x, rows, w, Compute::bf16, b)));
          }
        }
      }
    }
  }
}

// The reference adds k exact products (8 + 8 bits of mantissa) with one rounding each, then up to
// log2(segments) + 1 sums of segments: each of its results is within (k + 8) u of the exact one
// relative to sum |x w|, u = 2^-24. vdpbf16ps may round each of the two products of a pair and each
// sum, with results below 2^-126 flushed to zero: at most 2 (k + 8) u plus k 2^-126. Together below
// 3 (k + 8) u sum |x w| + k 2^-125, with inputs rounded to bf16 alike in both.
TEST_P(MatmulOnIsa, StaysWithinTheDerivedBoundOfTheReferenceInBf16) {
  const auto reference = make_cpu_backend(1, "reference");
  const auto backend = make_cpu_backend(2, GetParam());
  for (const Case& c : cases()) {
    for (const float scale : {1.0f, 1e-37f}) {
      const PackedMatrix w = random_matrix({c.n, c.segments, DType::bf16, PanelOrder::plain}, 4);
      const int64_t k = w.shape().k();
      const int64_t rows = 14;
      auto x = random_floats(rows * k, 5);
      for (float& value : x) value = float_from_bf16(bf16_from_float(value * scale));
      const auto expected = multiply(*reference, x, rows, w, Compute::bf16);
      const auto got = multiply(*backend, x, rows, w, Compute::bf16);
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t i = 0; i < c.n; ++i) {
          const double bound =
              3.0 * static_cast<double>(k + 8) * 0x1p-24 * magnitude(x.data() + row * k, w, i) +
              static_cast<double>(k) * 0x1p-125;
          const size_t at = static_cast<size_t>(row * c.n + i);
          ASSERT_NEAR(got[at], expected[at], bound) << "n " << c.n << " k " << k << " row " << row;
        }
      }
    }
  }
}

TEST_P(MatmulOnIsa, RowsDoNotKnowTheirBatch) {
  for (const Case& c : {Case{70, pieces(301, 8)}, Case{33, {65}}}) {
    for (DType dtype : {DType::bf16, DType::f32}) {
      for (Compute compute : {Compute::bf16, Compute::fp32}) {
        const PackedMatrix w = random_matrix({c.n, c.segments, dtype, PanelOrder::plain}, 6);
        const auto x = random_floats(40 * w.shape().k(), 7);
        const auto backend = make_cpu_backend(2, GetParam());
        const auto all = multiply(*backend, x, 40, w, compute);
        for (int64_t rows = 1; rows < 40; ++rows) {
          // The first rows, and the last ones, which then are at other places of other tiles.
          const auto some = multiply(*backend, x, rows, w, compute);
          ASSERT_EQ(std::memcmp(some.data(), all.data(), some.size() * sizeof(float)), 0) << rows;
          const std::vector<float> tail(x.end() - rows * w.shape().k(), x.end());
          const auto last = multiply(*backend, tail, rows, w, compute);
          ASSERT_EQ(std::memcmp(last.data(), all.data() + (all.size() - last.size()),
                                last.size() * sizeof(float)),
                    0)
              << rows;
        }
      }
    }
  }
}

TEST_P(MatmulOnIsa, ThreadsChangeNoBit) {
  const PackedMatrix w = random_matrix({1000, pieces(512, 8), DType::bf16, PanelOrder::plain}, 8);
  const auto x = random_floats(130 * 512, 9);
  const auto one = multiply(*make_cpu_backend(1, GetParam()), x, 130, w, Compute::bf16);
  for (int threads : {2, 3, 7})
    EXPECT_TRUE(
        same_bits(multiply(*make_cpu_backend(threads, GetParam()), x, 130, w, Compute::bf16), one));
}

// A row-parallel product over 2, 4 or 8 ranks: partial sums added as a tree over the ranks.
TEST_P(MatmulOnIsa, SplitsOfTheInputsOverRanksChangeNoBit) {
  const int64_t k = 808;
  const int64_t n = 48;
  const auto source = random_floats(n * k, 10);
  const auto x = random_floats(3 * k, 11);
  const auto backend = make_cpu_backend(2, GetParam());
  const auto part = [&](int ranks, int rank) {
    const Range held{k * rank / ranks, k * (rank + 1) / ranks};
    PackedMatrix w({n, tree_segments_of(k, 1, ranks, rank), DType::bf16, PanelOrder::plain});
    w.pack_rows(0, n, source.data() + held.begin, k * 4, DType::f32);
    std::vector<float> inputs;
    for (int64_t row = 0; row < 3; ++row)
      inputs.insert(inputs.end(), x.begin() + row * k + held.begin, x.begin() + row * k + held.end);
    return multiply(*backend, inputs, 3, w, Compute::bf16);
  };
  const auto whole = part(1, 0);
  for (int ranks : {2, 4, 8}) {
    std::vector<std::vector<float>> parts;
    for (int rank = 0; rank < ranks; ++rank) parts.push_back(part(ranks, rank));
    std::vector<float> sum(whole.size());
    for (size_t i = 0; i < sum.size(); ++i) {
      BinaryTree tree;
      for (const auto& p : parts) tree.push(p[i]);
      sum[i] = tree.sum();
    }
    EXPECT_TRUE(same_bits(sum, whole)) << ranks;
  }
}

TEST_P(MatmulOnIsa, ExpertsGiveTheBitsOfSingleProducts) {
  const int64_t k = 200;
  const int64_t n = 76;
  const std::vector<int32_t> counts = {0, 1, 0, 3, 30, 2, 12, 0, 13, 1, 8, 0};
  std::vector<int32_t> begin = {0};
  for (const int32_t count : counts) begin.push_back(begin.back() + count);
  std::vector<int32_t> source;
  for (int32_t row = 0; row < begin.back(); ++row) source.push_back(row * 7 % 20);
  const auto x = random_floats(20 * k, 16);
  for (Compute compute : {Compute::bf16, Compute::fp32}) {
    for (PanelOrder order : {PanelOrder::plain, PanelOrder::gate_up}) {
      std::vector<PackedMatrix> experts;
      for (size_t e = 0; e < counts.size(); ++e)
        experts.push_back(
            random_matrix({n, pieces(k, 8), DType::bf16, order}, static_cast<uint32_t>(20 + e)));
      const int64_t outputs = order == PanelOrder::plain ? n : n / 2;
      const auto gate_bias = random_floats(static_cast<int64_t>(counts.size()) * outputs, 17);
      const auto up_bias = random_floats(static_cast<int64_t>(counts.size()) * outputs, 18);
      for (int threads : {1, 3}) {
        const auto backend = make_cpu_backend(threads, GetParam());
        std::vector<float> grouped(source.size() * static_cast<size_t>(outputs), nan);
        std::vector<float> single = grouped;
        if (order == PanelOrder::plain) {
          backend->grouped_matmul(x.data(), {source, begin}, experts, compute, grouped.data());
        } else {
          backend->grouped_matmul_glu(x.data(), {source, begin}, experts, gate_bias.data(),
                                      up_bias.data(), {}, compute, grouped.data());
        }
        for (size_t e = 0; e < counts.size(); ++e) {
          for (int32_t row = begin[e]; row < begin[e + 1]; ++row) {
            const float* in = x.data() + source[static_cast<size_t>(row)] * k;
            float* out = single.data() + row * outputs;
            if (order == PanelOrder::plain) {
              backend->matmul(in, 1, experts[e], nullptr, compute, out);
            } else {
              const int64_t at = static_cast<int64_t>(e) * outputs;
              backend->matmul_glu(in, 1, experts[e], gate_bias.data() + at, up_bias.data() + at, {},
                                  compute, out);
            }
          }
        }
        EXPECT_TRUE(same_bits(grouped, single)) << to_string(compute) << " threads " << threads;
      }
    }
  }
}

TEST_P(MatmulOnIsa, NothingToDoTouchesNothing) {
  const auto backend = make_cpu_backend(2, GetParam());
  const PackedMatrix w = random_matrix({8, {4}, DType::bf16, PanelOrder::plain}, 30);
  float untouched = 7.0f;
  backend->matmul(&untouched, 0, w, nullptr, Compute::bf16, &untouched);
  const std::vector<int32_t> begin = {0, 0, 0};
  std::vector<PackedMatrix> experts(2);
  backend->grouped_matmul(&untouched, {{}, begin}, experts, Compute::bf16, &untouched);
  const PackedMatrix empty({0, {4}, DType::bf16, PanelOrder::plain});
  const float x[4] = {};
  backend->matmul(x, 1, empty, nullptr, Compute::bf16, &untouched);
  EXPECT_EQ(untouched, 7.0f);
}

TEST_P(MatmulOnIsa, NanAndInfinityStayInTheirRow) {
  const auto backend = make_cpu_backend(1, GetParam());
  const PackedMatrix w = random_matrix({40, pieces(33, 8), DType::bf16, PanelOrder::plain}, 31);
  auto x = random_floats(5 * 33, 32);
  const auto clean = multiply(*backend, x, 5, w, Compute::bf16);
  x[2 * 33 + 4] = nan;
  x[3 * 33 + 32] = std::numeric_limits<float>::infinity();
  const auto got = multiply(*backend, x, 5, w, Compute::bf16);
  for (int64_t row = 0; row < 5; ++row) {
    for (int64_t i = 0; i < 40; ++i) {
      const size_t at = static_cast<size_t>(row * 40 + i);
      if (row == 2) {
        EXPECT_TRUE(std::isnan(got[at]));
      } else if (row == 3) {
        EXPECT_FALSE(std::isfinite(got[at]));
      } else {
        EXPECT_EQ(got[at], clean[at]);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, MatmulOnIsa, testing::ValuesIn(cpu_isas()), [](const auto& info) {
  std::string name(info.param);
  std::erase(name, '-');
  return name;
});

TEST(CpuBackend, ReportsTheInstructionSetThatRunsAndRefusesOthers) {
  for (const std::string_view isa : cpu_isas()) EXPECT_EQ(make_cpu_backend(1, isa)->isa(), isa);
  EXPECT_EQ(make_cpu_backend(1)->isa(), cpu_isas().back());
  std::cout << "[ isas     ]";
  for (const std::string_view isa : cpu_isas()) std::cout << " " << isa;
  std::cout << "; default " << make_cpu_backend(1)->isa() << "\n";
  EXPECT_ANY_THROW(make_cpu_backend(1, "avx1024"));
}

TEST(SumOrder, BinaryTreeFoldsARemainderFromItsEnd) {
  // Terms so different in size that the order shows: 2^24 swallows a single 1, but not 2.
  const auto sum = [](std::vector<float> terms) {
    BinaryTree tree;
    for (const float term : terms) tree.push(term);
    return tree.sum();
  };
  EXPECT_EQ(sum({}), 0.0f);
  EXPECT_EQ(sum({3}), 3.0f);
  EXPECT_EQ(sum({0x1p24f, 1, 1, 1}), (0x1p24f + 1.0f) + 2.0f);
  EXPECT_EQ(sum({0x1p24f, 0, 1, 1, 1, 1, 1}), (0x1p24f + 2.0f) + 3.0f);
}

}  // namespace
}  // namespace dure
