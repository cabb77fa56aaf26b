// Products with integer codes: every instruction set against the reference bit by bit, and the
// reference against exact arithmetic.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/backend.h"
#include "kernels/compare_floats.h"
#include "kernels/pack_codes.h"
#include "kernels/product_cases.h"
#include "kernels/quantize_inputs.h"
#include "kernels/random_data.h"
#include "kernels/sum_order.h"

namespace dure {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

std::vector<PackedShape> shapes(CodeFormat format, PanelOrder order = PanelOrder::plain) {
  std::vector<PackedShape> all;
  const auto add = [&](int64_t n, std::vector<int64_t> segments, int64_t first = 0) {
    all.push_back({.n = n,
                   .segments = std::move(segments),
                   .order = order,
                   .codes = format,
                   .first_input = first});
  };
  add(2, {1});
  add(6, {7});
  add(32, {64});
  add(34, {65}, 31);
  add(100, pieces(301, 8));
  add(64, pieces(1408, 8));  // segments cut groups in halves
  add(64, pieces(352, 2), 352);
  add(70, pieces(50, 4));
  add(40, pieces(92, 7), 3);
  add(96, pieces(5, 8));  // some segments are empty
  add(8, {0, 0, 3, 0});
  add(4, {0});
  add(130, {2048});
  return all;
}

class CodedMatmulOnIsa : public testing::TestWithParam<std::string_view> {};

TEST_P(CodedMatmulOnIsa, GivesTheReferenceBitsForEveryFormatShapeAndBias) {
  const auto reference = make_cpu_backend(1, "reference");
  const auto backend = make_cpu_backend(2, GetParam());
  for (CodeFormat format : {CodeFormat::q8, CodeFormat::q4}) {
    for (const PackedShape& shape : shapes(format)) {
      const PackedMatrix w = random_matrix(shape, 1);
      const auto bias = random_floats(shape.n, 2);
      for (int64_t rows : {1, 2, 3, 5, 12, 13, 29}) {
        const auto x = random_floats(rows * shape.k(), 3);
        for (Compute compute : {Compute::bf16, Compute::fp32}) {
          for (const float* b : {static_cast<const float*>(nullptr), bias.data()}) {
            ASSERT_TRUE(same_bits(multiply(*backend, x, rows, w, compute, b),
                                  multiply(*reference, x, rows, w, compute, b)))
                << to_string(format) << " n " << shape.n << " k " << shape.k() << " rows " << rows
                << " " << to_string(compute);
          }
        }
      }
    }
  }
}

// Codes of 255 and 0 against inputs of the largest magnitude are where 16-bit sums would overflow.
TEST_P(CodedMatmulOnIsa, AddsTheLargestProductsWithoutOverflow) {
  const auto reference = make_cpu_backend(1, "reference");
  const auto backend = make_cpu_backend(1, GetParam());
  constexpr int64_t k = 64;
  for (CodeFormat format : {CodeFormat::q8, CodeFormat::q4}) {
    for (const int signs : {0, 1, 2, 3}) {
      std::vector<float> weights(32 * k), x(k);
      for (size_t i = 0; i < weights.size(); ++i) weights[i] = (signs & 1) && i % 2 ? -1.0f : 1.0f;
      for (size_t i = 0; i < x.size(); ++i) x[i] = (signs & 2) && i % 3 ? -1.0f : 1.0f;
      PackedMatrix w({.n = 32, .segments = {k}, .codes = format});
      w.pack_rows(0, 32, weights.data(), k * 4, DType::f32);
      const auto got = multiply(*backend, x, 1, w, Compute::bf16);
      EXPECT_TRUE(same_bits(got, multiply(*reference, x, 1, w, Compute::bf16)));
      double exact = 0.0;
      for (size_t i = 0; i < k; ++i) exact += double{x[i]} * weights[i];
      // The scale of 8 bits is at most 2^-10 too large; 4 bits have no code for 8.
      EXPECT_NEAR(got[0], exact, k * (format == CodeFormat::q8 ? 0x1p-9 : 0.126));
    }
  }
}

// An input is off by half a step of its group, largest / 254, at most (with three roundings, 2^-22
// of 127 steps more), so an output by that times the sum of the group's |w|, where w is what the
// codes mean. Beside that come the roundings of scales, products and sums: 2^-24 each, three per
// group and one per level of the tree, relative to the sum of |x w|.
TEST_P(CodedMatmulOnIsa, StaysWithinTheStepOfItsInputsOfExactArithmetic) {
  const auto backend = make_cpu_backend(2, GetParam());
  for (CodeFormat format : {CodeFormat::q8, CodeFormat::q4}) {
    for (const PackedShape& shape : shapes(format)) {
      const PackedMatrix w = random_matrix(shape, 4);
      const int64_t k = shape.k();
      const auto x = random_floats(2 * k, 5);
      const auto got = multiply(*backend, x, 2, w, Compute::bf16);
      const CodeGroups groups = shape.groups();
      for (int64_t row = 0; row < 2; ++row) {
        for (int64_t n = 0; n < shape.n; ++n) {
          CodeReader reader(w.data() + n / 32 * shape.panel_bytes(), format, n % 32);
          double exact = 0.0, from_inputs = 0.0, magnitude = 0.0;
          const float* in = x.data() + row * k;
          for (const int32_t count : groups.inputs) {
            int32_t whole[code_group];
            const double scale = reader.read(count, whole);
            double largest = 0.0, weights = 0.0;
            for (int32_t i = 0; i < count; ++i) {
              largest = std::max(largest, std::abs(double{in[i]}));
              weights += std::abs(scale * whole[i]);
              exact += in[i] * scale * whole[i];
              magnitude += std::abs(in[i] * scale * whole[i]);
            }
            from_inputs += largest / 254 * (1 + 0x1p-13) * weights;
            in += count;
          }
          const double roundings = 3.0 * static_cast<double>(groups.inputs.size()) + 8.0;
          const double bound = from_inputs + roundings * 0x1p-24 * (magnitude + from_inputs);
          ASSERT_NEAR(got[static_cast<size_t>(row * shape.n + n)], exact, bound)
              << to_string(format) << " n " << shape.n << " k " << k;
        }
      }
    }
  }
}

TEST_P(CodedMatmulOnIsa, RowsDoNotKnowTheirBatchNorThreads) {
  for (CodeFormat format : {CodeFormat::q8, CodeFormat::q4}) {
    const PackedShape shape{.n = 70, .segments = pieces(301, 8), .codes = format};
    const PackedMatrix w = random_matrix(shape, 6);
    const auto x = random_floats(512 * 301, 7);
    const auto all = multiply(*make_cpu_backend(1, GetParam()), x, 512, w, Compute::bf16);
    for (int threads : {1, 2, 5}) {
      const auto backend = make_cpu_backend(threads, GetParam());
      EXPECT_TRUE(same_bits(multiply(*backend, x, 512, w, Compute::bf16), all)) << threads;
      for (int64_t rows = 1; rows < 30; ++rows) {
        // The last rows, which then are at other places of other tiles.
        const std::vector<float> tail(x.end() - rows * 301, x.end());
        const auto last = multiply(*backend, tail, rows, w, Compute::bf16);
        ASSERT_EQ(std::memcmp(last.data(), all.data() + (all.size() - last.size()),
                              last.size() * sizeof(float)),
                  0)
            << rows;
      }
    }
  }
}

// Row-parallel products over 2, 4 or 8 ranks, whose borders cut groups.
TEST_P(CodedMatmulOnIsa, SplitsOfTheInputsOverRanksChangeNoBit) {
  constexpr int64_t n = 48;
  const auto backend = make_cpu_backend(2, GetParam());
  for (const int64_t k : {1408, 808}) {
    const auto source = random_floats(n * k, 10);
    const auto x = random_floats(3 * k, 11);
    for (CodeFormat format : {CodeFormat::q8, CodeFormat::q4}) {
      const auto part = [&](int ranks, int rank) {
        const Range held{k * rank / ranks, k * (rank + 1) / ranks};
        PackedMatrix w({.n = n,
                        .segments = tree_segments_of(k, 1, ranks, rank),
                        .codes = format,
                        .first_input = held.begin});
        w.pack_rows(0, n, source.data() + held.begin, k * 4, DType::f32);
        std::vector<float> inputs;
        for (int64_t row = 0; row < 3; ++row)
          inputs.insert(inputs.end(), x.begin() + row * k + held.begin,
                        x.begin() + row * k + held.end);
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
        EXPECT_TRUE(same_bits(sum, whole)) << to_string(format) << " k " << k << " over " << ranks;
      }
    }
  }
}

TEST_P(CodedMatmulOnIsa, ExpertsGiveTheBitsOfSingleProducts) {
  constexpr int64_t k = 200;
  constexpr int64_t n = 76;
  const std::vector<int32_t> counts = {0, 1, 0, 3, 30, 2, 12, 0, 13, 1, 8, 0};
  std::vector<int32_t> begin = {0};
  for (const int32_t count : counts) begin.push_back(begin.back() + count);
  std::vector<int32_t> source;
  for (int32_t row = 0; row < begin.back(); ++row) source.push_back(row * 7 % 20);
  const auto x = random_floats(20 * k, 16);
  for (CodeFormat format : {CodeFormat::q8, CodeFormat::q4}) {
    for (PanelOrder order : {PanelOrder::plain, PanelOrder::gate_up}) {
      std::vector<PackedMatrix> experts;
      for (size_t e = 0; e < counts.size(); ++e)
        experts.push_back(
            random_matrix({.n = n, .segments = pieces(k, 8), .order = order, .codes = format},
                          static_cast<uint32_t>(20 + e)));
      const bool plain = order == PanelOrder::plain;
      const int64_t outputs = plain ? n : n / 2;
      const auto backend = make_cpu_backend(3, GetParam());
      std::vector<float> grouped(source.size() * static_cast<size_t>(outputs), nan);
      std::vector<float> single = grouped;
      if (plain) {
        backend->grouped_matmul(x.data(), {source, begin}, experts, Compute::bf16, grouped.data());
      } else {
        backend->grouped_matmul_glu(x.data(), {source, begin}, experts, nullptr, nullptr, {},
                                    Compute::bf16, grouped.data());
      }
      for (size_t e = 0; e < counts.size(); ++e) {
        for (int32_t row = begin[e]; row < begin[e + 1]; ++row) {
          const float* in = x.data() + source[static_cast<size_t>(row)] * k;
          float* out = single.data() + row * outputs;
          if (plain) {
            backend->matmul(in, 1, experts[e], nullptr, Compute::bf16, out);
          } else {
            backend->matmul_glu(in, 1, experts[e], nullptr, nullptr, {}, Compute::bf16, out);
          }
        }
      }
      EXPECT_TRUE(same_bits(grouped, single)) << to_string(format);
    }
  }
}

TEST_P(CodedMatmulOnIsa, NanAndInfinityStayInTheirRowAndTinyInputsAreZeros) {
  const auto backend = make_cpu_backend(1, GetParam());
  const PackedMatrix w =
      random_matrix({.n = 40, .segments = pieces(33, 8), .codes = CodeFormat::q8}, 31);
  auto x = random_floats(5 * 33, 32);
  const auto clean = multiply(*backend, x, 5, w, Compute::bf16);
  x[2 * 33 + 4] = nan;
  x[3 * 33 + 32] = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < 33; ++i) x[4 * 33 + i] = i % 2 ? 1e-38f : -0x1p-140f;
  const auto got = multiply(*backend, x, 5, w, Compute::bf16);
  for (size_t at = 0; at < got.size(); ++at) {
    const size_t row = at / 40;
    if (row == 2 || row == 3) {
      EXPECT_TRUE(std::isnan(got[at]));
    } else {
      EXPECT_EQ(got[at], row < 2 ? clean[at] : 0.0f);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, CodedMatmulOnIsa, testing::ValuesIn(cpu_isas()), [](const auto& info) {
  std::string name(info.param);
  std::erase(name, '-');
  return name;
});

TEST(QuantizeInputs, RoundsToNearestEvenOfAHundredAndTwentySeventh) {
  const float x[5] = {127.0f, -0.5f, 1.5f, -126.6f, 0.49f};
  const QuantizedInputs group = quantize_inputs(x, 5);
  EXPECT_EQ(group.scale, 1.0f);
  EXPECT_EQ(std::vector<int>(group.codes, group.codes + 6),
            (std::vector<int>{127, 0, 2, -127, 0, 0}));
  EXPECT_TRUE(std::isnan(quantize_inputs(&nan, 1).scale));
}

}  // namespace
}  // namespace dure
