// Gated activations of every instruction set against their definition and the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "kernels/backend.h"
#include "kernels/compare_floats.h"
#include "kernels/random_data.h"

namespace dure {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

std::vector<Glu> kinds() {
  return {{}, {Glu::Kind::gelu_tanh, 0.0f, 0.0f}, {Glu::Kind::clamped_swish, 1.702f, 7.0f}};
}

// The textbook forms, in double.
double defined(const Glu& glu, double gate, double up) {
  switch (glu.kind) {
    case Glu::Kind::silu:
      return gate / (1.0 + std::exp(-gate)) * up;
    case Glu::Kind::gelu_tanh: {
      const double inner =
          std::sqrt(2.0 / std::numbers::pi) * (gate + 0.044715 * gate * gate * gate);
      return 0.5 * gate * (1.0 + std::tanh(inner)) * up;
    }
    case Glu::Kind::clamped_swish: {
      const double limit = static_cast<double>(glu.limit);
      gate = std::min(gate, limit);
      up = std::clamp(up, -limit, limit);
      return (up + 1.0) * gate / (1.0 + std::exp(-static_cast<double>(glu.alpha) * gate));
    }
  }
  return 0.0;
}

// A matrix that gives gate and up themselves for inputs (gate, up).
PackedMatrix picks(int64_t intermediate) {
  PackedMatrix w({2 * intermediate, {2}, DType::f32, PanelOrder::gate_up});
  const float gate[2] = {1.0f, 0.0f};
  const float up[2] = {0.0f, 1.0f};
  for (int64_t i = 0; i < intermediate; ++i) {
    w.pack_rows(i, 1, gate, sizeof gate, DType::f32);
    w.pack_rows(intermediate + i, 1, up, sizeof up, DType::f32);
  }
  return w;
}

class GluOnIsa : public testing::TestWithParam<std::string_view> {};

// In units of u = 2^-24: z, the argument of the sigmoid, is good to 4 (three roundings and a
// constant), which e^-z feels as 4 |z|; exp is within 2^-22.6 < 2.7; the sum, the quotient, up + 1
// and the product round once each. |z| is at most 1.702 |gate| or |gate| (1.6 + 0.072 gate²). The
// tanh of the definition cancels for gates below 0 to 2^-53, times the gate and up.
TEST_P(GluOnIsa, FollowsTheDefinitionOfEachKind) {
  const auto backend = make_cpu_backend(1, GetParam());
  const PackedMatrix w = picks(1);
  std::vector<float> x;
  for (const float gate : {0.0f, 0.03f, -0.03f, 0.5f, -0.5f, 1.0f, -1.0f, 3.3f, -3.3f, 6.9f, -6.9f,
                           7.1f, -7.1f, 20.0f, -20.0f})
    for (const float up : {0.0f, 1.0f, -1.0f, -0.999f, 2.5f, 8.0f, -8.0f})
      x.insert(x.end(), {gate, up});
  for (const Glu& glu : kinds()) {
    std::vector<float> out(x.size() / 2, nan);
    backend->matmul_glu(x.data(), static_cast<int64_t>(out.size()), w, nullptr, nullptr, glu,
                        Compute::fp32, out.data());
    for (size_t i = 0; i < out.size(); ++i) {
      const double gate = x[2 * i], up = x[2 * i + 1];
      const double exact = defined(glu, gate, up);
      const double z = std::abs(gate) * (1.702 + 0.072 * gate * gate);
      ASSERT_NEAR(out[i], exact,
                  std::abs(exact) * (4 * z + 7) * 0x1p-24 + std::abs(gate * up) * 0x1p-50)
          << "kind " << static_cast<int>(glu.kind) << " gate " << gate << " up " << up;
    }
  }
}

// exp of the vector backends is within 2^-22.6 and the reference's (libm) within 2^-23 of e^x, and
// 1 / (1 + e^-z) adds two roundings on each side: they differ by less than 2^-22.6 + 2^-23 + 2 * 3
// * 2^-24 < 2^-20.5 of themselves. Gate, up and z are the same bits in fp32.
TEST_P(GluOnIsa, IsWithinTheBoundOfExpOfTheReference) {
  const auto reference = make_cpu_backend(1, "reference");
  const auto backend = make_cpu_backend(2, GetParam());
  for (const Glu& glu : kinds()) {
    for (int64_t intermediate : {1, 31, 32, 50, 96}) {
      const PackedMatrix w =
          random_matrix({2 * intermediate, {20, 33, 77}, DType::bf16, PanelOrder::gate_up}, 12);
      const auto gate_bias = random_floats(intermediate, 13);
      const auto up_bias = random_floats(intermediate, 14);
      for (int64_t rows : {1, 4, 17}) {
        auto x = random_floats(rows * 130, 15);
        for (float& value : x) value *= 4.0f;
        std::vector<float> expected(static_cast<size_t>(rows * intermediate), nan);
        std::vector<float> got = expected;
        reference->matmul_glu(x.data(), rows, w, gate_bias.data(), up_bias.data(), glu,
                              Compute::fp32, expected.data());
        backend->matmul_glu(x.data(), rows, w, gate_bias.data(), up_bias.data(), glu, Compute::fp32,
                            got.data());
        for (size_t i = 0; i < got.size(); ++i)
          ASSERT_NEAR(got[i], expected[i], std::abs(expected[i]) * 0x1p-20 * 0.71 + 0x1p-120) << i;
      }
    }
  }
}

TEST_P(GluOnIsa, RowsAndThreadsChangeNoBit) {
  const int64_t intermediate = 70, rows = 31, k = 101;
  const PackedMatrix w =
      random_matrix({2 * intermediate, {40, 61}, DType::bf16, PanelOrder::gate_up}, 16);
  const auto x = random_floats(rows * k, 17);
  const auto bias = random_floats(intermediate, 18);
  for (const Glu& glu : kinds()) {
    const auto run = [&](int threads, int64_t first, int64_t count) {
      std::vector<float> out(static_cast<size_t>(count * intermediate), nan);
      make_cpu_backend(threads, GetParam())
          ->matmul_glu(x.data() + first * k, count, w, bias.data(), nullptr, glu, Compute::fp32,
                       out.data());
      return out;
    };
    const auto whole = run(1, 0, rows);
    EXPECT_TRUE(same_bits(run(3, 0, rows), whole));
    for (int64_t row : {0, 13, 30}) {
      const auto begin = whole.begin() + row * intermediate;
      EXPECT_TRUE(same_bits(run(1, row, 1), std::vector<float>(begin, begin + intermediate)));
    }
  }
}

TEST_P(GluOnIsa, NanShowsInItsRowAloneAndInfinitiesAreClamped) {
  const auto backend = make_cpu_backend(1, GetParam());
  const int64_t intermediate = 19;
  const PackedMatrix w = picks(intermediate);
  for (const Glu& glu : kinds()) {
    const std::vector<float> x = {1.0f, 2.0f, nan, 2.0f, 1.0f, nan, 3.0f, -1.5f};
    std::vector<float> out(static_cast<size_t>(4 * intermediate), 0.0f);
    backend->matmul_glu(x.data(), 4, w, nullptr, nullptr, glu, Compute::fp32, out.data());
    for (size_t i = 0; i < out.size(); ++i) {
      const size_t row = i / static_cast<size_t>(intermediate);
      EXPECT_EQ(std::isnan(out[i]), row == 1 || row == 2) << i;
    }
  }
  // NaN of one input is NaN in gate and up; by the biases, each alone.
  const std::vector<float> zeros(2, 0.0f);
  const auto with_biases = [&](float gate, float up) {
    const std::vector<float> gates(19, gate), ups(19, up);
    std::vector<float> out(19, 0.0f);
    backend->matmul_glu(zeros.data(), 1, w, gates.data(), ups.data(),
                        {Glu::Kind::clamped_swish, 1.702f, 7.0f}, Compute::fp32, out.data());
    return out;
  };
  for (const float value : with_biases(nan, 1.0f)) EXPECT_TRUE(std::isnan(value));
  for (const float value : with_biases(1.0f, nan)) EXPECT_TRUE(std::isnan(value));
  for (const float value : with_biases(infinity, -infinity))
    EXPECT_NEAR(value, -42.0 / (1.0 + std::exp(-1.702 * 7)), 42 * 60 * 0x1p-24);
}

INSTANTIATE_TEST_SUITE_P(, GluOnIsa, testing::ValuesIn(cpu_isas()), [](const auto& info) {
  std::string name(info.param);
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace dure
