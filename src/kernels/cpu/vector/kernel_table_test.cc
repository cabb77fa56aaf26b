// The vector exp, tanh and softplus against libm in double.
#include "kernels/cpu/vector/kernel_table.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cpu/vector/cpu_features.h"

namespace dure {
namespace {

void check_exp(const KernelTable& kernels) {
  SCOPED_TRACE(kernels.name);
  // Every 977th float between 2^-40 and 104, of both signs: about 700,000 numbers.
  std::vector<float> x;
  for (uint32_t bits = std::bit_cast<uint32_t>(0x1p-40f); bits < std::bit_cast<uint32_t>(104.0f);
       bits += 977) {
    x.push_back(std::bit_cast<float>(bits));
    x.push_back(-x.back());
  }
  std::vector<float> got(x.size());
  kernels.exp(x.data(), static_cast<int64_t>(x.size()), got.data());
  double worst = 0.0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = std::exp(static_cast<double>(x[i]));
    if (x[i] > 88.7228f) {
      // The bound allows either the largest floats or infinity right at the border.
      ASSERT_GT(got[i], 3.4e38f) << x[i];
    } else if (exact < 0x1p-125) {
      ASSERT_NEAR(got[i], exact, 0x1p-148) << x[i];
    } else {
      worst = std::max(worst, std::abs(got[i] - exact) / exact);
    }
  }
  EXPECT_LT(worst, 0x1p-22 * 0.66);  // 2^-22.6
  std::cout << "[ exp      ] " << kernels.name << " worst relative error 2^" << std::log2(worst)
            << "\n";

  constexpr float infinity = std::numeric_limits<float>::infinity();
  const float special[] = {0.0f, -0.0f, infinity, -infinity, std::nanf(""), 1e30f, -1e30f, -104.5f};
  float of_special[8];
  kernels.exp(special, 8, of_special);
  EXPECT_EQ(of_special[0], 1.0f);
  EXPECT_EQ(of_special[1], 1.0f);
  EXPECT_EQ(of_special[2], infinity);
  EXPECT_EQ(of_special[3], 0.0f);
  EXPECT_TRUE(std::isnan(of_special[4]));
  EXPECT_EQ(of_special[5], infinity);
  EXPECT_EQ(of_special[6], 0.0f);
  EXPECT_EQ(of_special[7], 0.0f);
}

void check_tanh(const KernelTable& kernels) {
  SCOPED_TRACE(kernels.name);
  // Every 977th float between 2^-40 and 12, of both signs.
  std::vector<float> x;
  for (uint32_t bits = std::bit_cast<uint32_t>(0x1p-40f); bits < std::bit_cast<uint32_t>(12.0f);
       bits += 977) {
    x.push_back(std::bit_cast<float>(bits));
    x.push_back(-x.back());
  }
  std::vector<float> got(x.size());
  kernels.tanh(x.data(), static_cast<int64_t>(x.size()), got.data());
  double worst = 0.0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = std::tanh(static_cast<double>(x[i]));
    worst = std::max(worst, std::abs((got[i] - exact) / exact));
  }
  EXPECT_LT(worst, 0x1p-21);
  std::cout << "[ tanh     ] " << kernels.name << " worst relative error 2^" << std::log2(worst)
            << "\n";

  constexpr float infinity = std::numeric_limits<float>::infinity();
  const float special[] = {0.0f, -0.0f, infinity, -infinity, std::nanf(""), 1e30f, -1e30f, 1e-40f};
  float of_special[8];
  kernels.tanh(special, 8, of_special);
  EXPECT_EQ(of_special[0], 0.0f);
  EXPECT_EQ(of_special[1], 0.0f);
  EXPECT_EQ(of_special[2], 1.0f);
  EXPECT_EQ(of_special[3], -1.0f);
  EXPECT_TRUE(std::isnan(of_special[4]));
  EXPECT_EQ(of_special[5], 1.0f);
  EXPECT_EQ(of_special[6], -1.0f);
  EXPECT_NEAR(of_special[7], 1e-40f, 0x1p-148);
}

TEST(VectorTanh, KeepsItsErrorBound) {
  const CpuFeatures features = cpu_features();
  if (features.avx2) check_tanh(avx2_kernels());
  if (features.avx512) check_tanh(avx512_kernels());
  if (!features.avx2) GTEST_SKIP() << "this CPU runs the reference only";
}

void check_softplus(const KernelTable& kernels) {
  SCOPED_TRACE(kernels.name);
  // Every 977th float between 2^-40 and 86, of both signs: e^x stays normal.
  std::vector<float> x;
  for (uint32_t bits = std::bit_cast<uint32_t>(0x1p-40f); bits < std::bit_cast<uint32_t>(86.0f);
       bits += 977) {
    x.push_back(std::bit_cast<float>(bits));
    x.push_back(-x.back());
  }
  std::vector<float> got(x.size());
  kernels.softplus(x.data(), static_cast<int64_t>(x.size()), got.data());
  double worst = 0.0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = std::max(static_cast<double>(x[i]), 0.0) +
                         std::log1p(std::exp(-std::abs(static_cast<double>(x[i]))));
    worst = std::max(worst, std::abs(got[i] - exact) / exact);
  }
  EXPECT_LT(worst, 0x1p-21);
  std::cout << "[ softplus ] " << kernels.name << " worst relative error 2^" << std::log2(worst)
            << "\n";

  constexpr float infinity = std::numeric_limits<float>::infinity();
  const float special[] = {infinity, -infinity, std::nanf(""), 200.0f, -200.0f, -95.0f};
  float of_special[6];
  kernels.softplus(special, 6, of_special);
  EXPECT_EQ(of_special[0], infinity);
  EXPECT_EQ(of_special[1], 0.0f);
  EXPECT_TRUE(std::isnan(of_special[2]));
  EXPECT_EQ(of_special[3], 200.0f);
  EXPECT_EQ(of_special[4], 0.0f);
  EXPECT_NEAR(of_special[5], std::exp(-95.0), 0x1p-147);
}

TEST(VectorSoftplus, KeepsItsErrorBound) {
  const CpuFeatures features = cpu_features();
  if (features.avx2) check_softplus(avx2_kernels());
  if (features.avx512) check_softplus(avx512_kernels());
  if (!features.avx2) GTEST_SKIP() << "this CPU runs the reference only";
}

TEST(VectorExp, KeepsItsErrorBound) {
  const CpuFeatures features = cpu_features();
  if (features.avx2) check_exp(avx2_kernels());
  if (features.avx512) check_exp(avx512_kernels());
  if (!features.avx2) GTEST_SKIP() << "this CPU runs the reference only";
}

}  // namespace
}  // namespace dure
