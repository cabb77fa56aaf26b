// Elementwise operations of every instruction set against their definition.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/backend.h"
#include "kernels/random_data.h"

namespace dure {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

class ElementwiseOnIsa : public testing::TestWithParam<std::string_view> {};

TEST_P(ElementwiseOnIsa, ScaleMultipliesEveryElement) {
  const auto backend = make_cpu_backend(3, GetParam());
  for (int64_t count : {1, 15, 16, 17, 40000}) {
    auto x = random_floats(count, 1);
    x[static_cast<size_t>(count / 2)] = nan;
    auto got = x;
    backend->scale(got.data(), count, 0.7f);
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i])) {
        EXPECT_TRUE(std::isnan(got[i]));
      } else {
        ASSERT_EQ(got[i], x[i] * 0.7f) << i;
      }
    }
  }
}

TEST_P(ElementwiseOnIsa, ScaleRowsMultipliesEachRowByItsFactor) {
  const auto backend = make_cpu_backend(3, GetParam());
  for (int64_t width : {1, 16, 19, 5000}) {
    const int64_t rows = 11;
    const auto x = random_floats(rows * width, 2);
    auto factor = random_floats(rows, 3);
    factor[4] = nan;
    auto got = x;
    backend->scale_rows(got.data(), factor.data(), rows, width);
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t row = i / static_cast<size_t>(width);
      if (row == 4) {
        ASSERT_TRUE(std::isnan(got[i]));
      } else {
        ASSERT_EQ(got[i], x[i] * factor[row]);
      }
    }
  }
}

// tanh is within 2^-21 (math_lanes.h); the quotient, which tanh feels at most as it is, and the
// product round once each.
TEST_P(ElementwiseOnIsa, SoftcapBendsNumbersBelowTheCap) {
  const auto backend = make_cpu_backend(3, GetParam());
  for (const float cap : {30.0f, 0.5f}) {
    for (int64_t count : {1, 17, 40000}) {
      auto x = random_floats(count, 4);
      for (float& value : x) value *= 100.0f;
      if (count > 1) x[1] = nan;
      if (count > 3) x[2] = infinity, x[3] = -infinity;
      auto got = x;
      backend->softcap(got.data(), count, cap);
      for (size_t i = 0; i < x.size(); ++i) {
        const double exact = std::tanh(static_cast<double>(x[i]) / static_cast<double>(cap)) *
                             static_cast<double>(cap);
        if (std::isnan(exact)) {
          EXPECT_TRUE(std::isnan(got[i]));
        } else {
          ASSERT_NEAR(got[i], exact, std::abs(exact) * 10 * 0x1p-24) << x[i];
        }
      }
    }
  }
}

TEST_P(ElementwiseOnIsa, SquaredReluKeepsPositivesAndNan) {
  const auto backend = make_cpu_backend(2, GetParam());
  for (int64_t count : {1, 17, 40000}) {
    auto x = random_floats(count, 19);
    x[0] = nan;
    if (count > 2) x[2] = -infinity;
    auto got = x;
    backend->relu_squared(got.data(), count);
    EXPECT_TRUE(std::isnan(got[0]));
    for (size_t i = 1; i < x.size(); ++i) ASSERT_EQ(got[i], x[i] > 0 ? x[i] * x[i] : 0.0f) << i;
  }
}

// Multiplies x by a gate of each element and checks all rows: exp within 2^-22.6, then a sum, a
// quotient and a product or two rounded, below 2^-21.
template <typename Multiply>
void expect_gates(const Multiply& multiply, bool silu) {
  for (int64_t width : {1, 16, 19, 300}) {
    const int64_t rows = 60, x_stride = width + 2, gate_stride = 2 * width + 1;
    const auto x = random_floats(rows * x_stride, 5);
    auto gate = random_floats(rows * gate_stride, 6);
    for (float& value : gate) value *= 20.0f;
    gate[static_cast<size_t>(3 * gate_stride)] = nan;
    auto got = x;
    multiply(got.data(), gate.data(), rows, width, x_stride, gate_stride);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = 0; i < x_stride; ++i) {
        const auto at = static_cast<size_t>(row * x_stride + i);
        if (i >= width) {
          EXPECT_EQ(got[at], x[at]);
          continue;
        }
        const double g = gate[static_cast<size_t>(row * gate_stride + i)];
        const double exact = static_cast<double>(x[at]) * (silu ? g : 1.0) / (1.0 + std::exp(-g));
        if (std::isnan(g)) {
          EXPECT_TRUE(std::isnan(got[at]));
        } else {
          ASSERT_NEAR(got[at], exact, std::abs(exact) * 0x1p-21);
        }
      }
    }
  }
}

TEST_P(ElementwiseOnIsa, MultiplyBySigmoidTakesEachElementsGate) {
  const auto backend = make_cpu_backend(3, GetParam());
  expect_gates([&](auto... arguments) { backend->multiply_by_sigmoid(arguments...); }, false);
}

TEST_P(ElementwiseOnIsa, MultiplyBySiluTakesEachElementsGate) {
  const auto backend = make_cpu_backend(3, GetParam());
  expect_gates([&](auto... arguments) { backend->multiply_by_silu(arguments...); }, true);
}

TEST_P(ElementwiseOnIsa, SigmoidScalesRows) {
  const auto backend = make_cpu_backend(2, GetParam());
  const std::vector<float> gate = {0.0f, 3.0f, -3.0f, 200.0f, -200.0f};
  std::vector<float> x(5 * 19, 1.0f);
  backend->scale_rows_by_sigmoid(x.data(), gate.data(), 5, 19);
  for (size_t i = 0; i < x.size(); ++i) {
    // exp within 2^-22.6, then a sum and a quotient rounded.
    const double exact = 1.0 / (1.0 + std::exp(-static_cast<double>(gate[i / 19])));
    ASSERT_NEAR(x[i], exact, exact * 0x1p-21 + 0x1p-126) << gate[i / 19];
  }
}

INSTANTIATE_TEST_SUITE_P(, ElementwiseOnIsa, testing::ValuesIn(cpu_isas()), [](const auto& info) {
  std::string name(info.param);
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace dure
