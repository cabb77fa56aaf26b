// Row operations of every instruction set against the reference: the same bits, but for exp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/backend.h"
#include "kernels/compare_floats.h"
#include "kernels/random_data.h"
#include "tensor/float_bits.h"

namespace dure {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

class RowsOnIsa : public testing::TestWithParam<std::string_view> {
 protected:
  // Runs `fill` on both backends, which returns what it computed.
  template <class Function>
  void expect_reference_bits(const Function& fill) {
    const auto expected = fill(*make_cpu_backend(1, "reference"));
    for (int threads : {1, 3})
      EXPECT_TRUE(same_bits(fill(*make_cpu_backend(threads, GetParam())), expected)) << threads;
  }
};

TEST_P(RowsOnIsa, NormsGiveTheReferenceBits) {
  for (int64_t width : {1, 15, 16, 17, 128, 1000}) {
    const int64_t stride = width + 3;
    const int64_t rows = 37;
    auto x = random_floats(rows * stride, 1);
    x[static_cast<size_t>(5 * stride)] = nan;
    const auto w = random_floats(width, 2);
    for (const float* weight : std::initializer_list<const float*>{nullptr, w.data()}) {
      expect_reference_bits([&](Backend& backend) {
        std::vector<float> out(x.size(), 0.0f);
        backend.rms_norm(x.data(), rows, width, stride, weight, 1e-6f, out.data());
        return out;
      });
      expect_reference_bits([&](Backend& backend) {
        std::vector<float> out = x;
        const std::vector<float> total(static_cast<size_t>(rows), 3.7f);
        backend.scale_by_norm(out.data(), rows, width, stride, total.data(), 77.0f, weight, 1e-5f);
        return out;
      });
      for (const float* bias : std::initializer_list<const float*>{nullptr, w.data()}) {
        expect_reference_bits([&](Backend& backend) {
          std::vector<float> out(x.size(), 0.0f);
          backend.layer_norm(x.data(), rows, width, stride, weight, bias, 1e-6f, out.data());
          return out;
        });
      }
    }
    expect_reference_bits([&](Backend& backend) {  // in place
      std::vector<float> out = x;
      backend.rms_norm(out.data(), rows, width, stride, w.data(), 1e-6f, out.data());
      return out;
    });
    expect_reference_bits([&](Backend& backend) {
      std::vector<float> out = x;
      backend.layer_norm(out.data(), rows, width, stride, w.data(), nullptr, 1e-6f, out.data());
      return out;
    });
    expect_reference_bits([&](Backend& backend) {
      std::vector<float> sums(static_cast<size_t>(rows * 3), nan);
      const auto wide = random_floats(rows * (width * 3 + 1), 3);
      backend.sum_squares(wide.data(), rows, 3, width, width * 3 + 1, sums.data());
      return sums;
    });
  }
}

TEST_P(RowsOnIsa, RmsNormDividesByTheRootOfTheMeanSquare) {
  const std::vector<float> x = {3, -4, 0, 5};
  const std::vector<float> w = {1, 2, 3, -1};
  std::vector<float> out(4);
  make_cpu_backend(1, GetParam())->rms_norm(x.data(), 1, 4, 4, w.data(), 0.0f, out.data());
  const double root = std::sqrt(50.0 / 4);
  // Five roundings: mean, root, reciprocal, two products.
  for (size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(out[i], x[i] * w[i] / root, std::abs(x[i] * w[i] / root) * 5 * 0x1p-24);
}

TEST_P(RowsOnIsa, WithoutWeightANormIsThatOfOnes) {
  const int64_t width = 50;
  const auto x = random_floats(3 * width, 20);
  const std::vector<float> ones(50, 1.0f), zeros(50, 0.0f);
  const auto backend = make_cpu_backend(1, GetParam());
  std::vector<float> with(x.size()), without(x.size());
  backend->rms_norm(x.data(), 3, width, width, ones.data(), 1e-6f, with.data());
  backend->rms_norm(x.data(), 3, width, width, nullptr, 1e-6f, without.data());
  EXPECT_TRUE(same_bits(with, without));
  backend->layer_norm(x.data(), 3, width, width, ones.data(), zeros.data(), 1e-6f, with.data());
  backend->layer_norm(x.data(), 3, width, width, nullptr, nullptr, 1e-6f, without.data());
  EXPECT_TRUE(same_bits(with, without));
}

// mean 3 and variance 4 are exact; then a root, a reciprocal and two roundings.
TEST_P(RowsOnIsa, LayerNormTakesTheMeanAndDividesByTheDeviation) {
  const std::vector<float> x = {1, 5, 1, 5};
  const std::vector<float> w = {1, 2, 3, -1}, b = {0.5f, 0, -1, 10};
  std::vector<float> out(4);
  make_cpu_backend(1, GetParam())
      ->layer_norm(x.data(), 1, 4, 4, w.data(), b.data(), 0.0f, out.data());
  EXPECT_EQ(out, (std::vector<float>{-0.5f, 2, -4, 9}));
  make_cpu_backend(1, GetParam())
      ->layer_norm(x.data(), 1, 4, 4, nullptr, nullptr, 1.0f, out.data());
  for (size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(out[i], (x[i] - 3.0) / std::sqrt(5.0), 2 * 4 * 0x1p-24);
}

TEST_P(RowsOnIsa, NormsKeepNanInItsRow) {
  const auto backend = make_cpu_backend(1, GetParam());
  const int64_t width = 37;
  auto x = random_floats(3 * width, 21);
  x[static_cast<size_t>(width + 36)] = nan;
  std::vector<float> rms(x.size()), layer(x.size());
  backend->rms_norm(x.data(), 3, width, width, nullptr, 1e-6f, rms.data());
  backend->layer_norm(x.data(), 3, width, width, nullptr, nullptr, 1e-6f, layer.data());
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(std::isnan(rms[i]), i / 37 == 1);
    EXPECT_EQ(std::isnan(layer[i]), i / 37 == 1);
  }
}

TEST_P(RowsOnIsa, RopeGivesTheReferenceBitsAndLeavesTheRestOfTheHead) {
  for (int64_t dims : {2, 6, 16, 18, 30, 32, 64}) {
    for (bool interleaved : {false, true}) {
      const int64_t head_dim = 64, heads = 3, rows = 9, stride = heads * head_dim + 5;
      RopeTable table;
      table.dims = dims;
      table.interleaved = interleaved;
      table.cos = random_floats(20 * dims / 2, 4);
      table.sin = random_floats(20 * dims / 2, 5);
      const std::vector<int32_t> positions = {0, 19, 3, 3, 7, 1, 2, 18, 4};
      auto x = random_floats(rows * stride, 6);
      x[static_cast<size_t>(4 * stride)] = nan;
      expect_reference_bits([&](Backend& backend) {
        std::vector<float> out = x;
        backend.rope(out.data(), rows, heads, head_dim, stride, positions.data(), table);
        for (int64_t row = 0; row < rows; ++row) {
          for (int64_t i = 0; i < stride; ++i) {
            const int64_t head = i / head_dim * head_dim, at = i % head_dim;
            const size_t here = static_cast<size_t>(row * stride + i);
            if (head == heads * head_dim || at >= dims) {
              EXPECT_EQ(out[here], x[here]) << "dims " << dims << " element " << i;
              continue;
            }
            const bool second = interleaved ? at % 2 == 1 : at >= dims / 2;
            const int64_t pair = interleaved ? at / 2 : at % (dims / 2);
            const int64_t other = interleaved ? at ^ 1 : (at + dims / 2) % dims;
            const size_t angle =
                static_cast<size_t>(positions[static_cast<size_t>(row)] * dims / 2 + pair);
            const double mine = x[here];
            const double partner = x[static_cast<size_t>(row * stride + head + other)];
            if (std::isnan(mine) || std::isnan(partner)) {
              EXPECT_TRUE(std::isnan(out[here]));
              continue;
            }
            // Against the definition, in double: two products and a sum of numbers below 1.
            const double exact =
                mine * static_cast<double>(table.cos[angle]) +
                (second ? 1 : -1) * partner * static_cast<double>(table.sin[angle]);
            EXPECT_NEAR(out[here], exact, 3 * 0x1p-24);
          }
        }
        return out;
      });
    }
  }
}

TEST_P(RowsOnIsa, EmbedWidensHeldRowsAndZerosOthers) {
  const int64_t hidden = 37;
  const auto values = random_floats(10 * hidden, 7);
  const std::vector<int32_t> ids = {100, 109, 99, 110, 104, -1, 0};
  for (DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    std::vector<uint16_t> halves;
    for (const float value : values)
      halves.push_back(dtype == DType::f16 ? f16_from_float(value) : bf16_from_float(value));
    const void* table =
        dtype == DType::f32 ? static_cast<const void*>(values.data()) : halves.data();
    expect_reference_bits([&](Backend& backend) {
      std::vector<float> out(ids.size() * static_cast<size_t>(hidden), nan);
      backend.embed(table, dtype, 100, 10, hidden, ids, out.data());
      EXPECT_EQ(out[static_cast<size_t>(2 * hidden)], 0.0f);
      EXPECT_EQ(out[static_cast<size_t>(3 * hidden)], 0.0f);
      EXPECT_EQ(out[static_cast<size_t>(5 * hidden)], 0.0f);
      return out;
    });
  }
}

TEST_P(RowsOnIsa, AddAndCombineGiveTheReferenceBits) {
  for (int64_t count : {1, 17, 40000}) {
    const auto y = random_floats(count, 8);
    expect_reference_bits([&](Backend& backend) {
      auto x = random_floats(count, 9);
      backend.add(x.data(), y.data(), count);
      return x;
    });
  }
  for (int64_t parts : {1, 2, 3, 4, 8}) {
    for (int64_t width : {1, 16, 50}) {
      const int64_t rows = 21, top_k = 3;
      const auto partial = random_floats(rows * top_k * parts * width, 10);
      const auto weights = random_floats(rows * top_k, 11);
      std::vector<int32_t> where(static_cast<size_t>(rows * top_k * parts));
      for (size_t i = 0; i < where.size(); ++i)
        where[i] = static_cast<int32_t>((i * 17 + 3) % where.size());
      const auto bias = random_floats(5 * width, 12);
      std::vector<int32_t> ids(static_cast<size_t>(rows * top_k));
      for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(i * 3 % 5);
      for (bool biased : {false, true}) {
        expect_reference_bits([&](Backend& backend) {
          std::vector<float> out(static_cast<size_t>(rows * width), nan);
          backend.combine_experts(partial.data(), where.data(), weights.data(),
                                  biased ? bias.data() : nullptr, biased ? ids.data() : nullptr,
                                  rows, top_k, parts, width, out.data());
          return out;
        });
      }
    }
  }
}

// Small whole numbers: every order of sums gives the same.
TEST_P(RowsOnIsa, CombineWeighsTheSumOfPartsAndTheBiasOfTheExpert) {
  const std::vector<float> partial = {1, 2, 10, 20, 100, 200, 1000, 2000};  // [4, 2]
  const std::vector<int32_t> where = {3, 0, 1, 2};  // two slots of two parts
  const std::vector<float> weights = {2, 3};
  const std::vector<float> bias = {7, 8, 70, 80, 700, 800};
  const std::vector<int32_t> ids = {2, 0};
  std::vector<float> out(2, nan);
  const auto backend = make_cpu_backend(1, GetParam());
  backend->combine_experts(partial.data(), where.data(), weights.data(), bias.data(), ids.data(), 1,
                           2, 2, 2, out.data());
  EXPECT_EQ(out, (std::vector<float>{2 * (1001 + 700) + 3 * (110 + 7),
                                     2 * (2002 + 800) + 3 * (220 + 8)}));
}

// Nothing of it is read: not an expert's number, and no weight, which may be anything.
TEST_P(RowsOnIsa, CombinePassesOverSlotsThatWereDropped) {
  const std::vector<float> partial = {1, 2, 10, 20};                  // [2, 2]
  const std::vector<int32_t> where = {-1, -1, 0, 1, -1, -1, -1, -1};  // two rows of two slots
  const std::vector<float> weights = {nan, 3, nan, nan};
  const std::vector<float> bias = {7, 8};
  const std::vector<int32_t> ids = {-1, 0, -1, -1};
  std::vector<float> out(4, nan);
  const auto backend = make_cpu_backend(1, GetParam());
  backend->combine_experts(partial.data(), where.data(), weights.data(), bias.data(), ids.data(), 2,
                           2, 2, 2, out.data());
  EXPECT_EQ(out, (std::vector<float>{3 * (11 + 7), 3 * (22 + 8), 0, 0}));
}

INSTANTIATE_TEST_SUITE_P(, RowsOnIsa, testing::ValuesIn(cpu_isas()), [](const auto& info) {
  std::string name(info.param);
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace dure
