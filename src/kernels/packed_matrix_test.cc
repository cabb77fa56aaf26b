#include "kernels/packed_matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/random_data.h"
#include "tensor/float_bits.h"

namespace dure {
namespace {

TEST(FloatBits, EveryF16SurvivesTheWayThroughFp32) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const uint16_t half = static_cast<uint16_t>(bits);
    const float value = float_from_f16(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(float_from_f16(f16_from_float(value))));
    } else {
      ASSERT_EQ(f16_from_float(value), half);
    }
  }
  EXPECT_EQ(float_from_f16(0x0001), 0x1p-24f);
  EXPECT_EQ(float_from_f16(0x0400), 0x1p-14f);
  EXPECT_EQ(float_from_f16(0x3c00), 1.0f);
  EXPECT_EQ(float_from_f16(0x7bff), 65504.0f);
  EXPECT_EQ(float_from_f16(0xfc00), -std::numeric_limits<float>::infinity());
}

TEST(FloatBits, F16RoundsBetweenNeighboursToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {  // finite and positive
    const float low = float_from_f16(static_cast<uint16_t>(bits));
    const float high = float_from_f16(static_cast<uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;  // exact: 11 bits between two of 10
    ASSERT_EQ(f16_from_float(middle), bits + (bits & 1));
    ASSERT_EQ(f16_from_float(std::nextafter(middle, low)), bits);
    ASSERT_EQ(f16_from_float(std::nextafter(middle, high)), bits + 1);
    ASSERT_EQ(f16_from_float(-std::nextafter(middle, high)), 0x8000 | (bits + 1));
  }
  EXPECT_EQ(f16_from_float(65519.9f), 0x7bff);
  EXPECT_EQ(f16_from_float(65520.0f), 0x7c00);
  EXPECT_EQ(f16_from_float(1e30f), 0x7c00);
}

// E4M3 as its definition says it: 2^(exponent - 7) (1 + mantissa / 8), 2^-6 mantissa / 8 where the
// exponent is 0, NaN where all bits of both are set.
TEST(FloatBits, EveryFp8IsWhatOfp8DefinesAndSurvivesTheWayThroughFp32) {
  for (uint32_t bits = 0; bits < 256; ++bits) {
    const auto fp8 = static_cast<uint8_t>(bits);
    const int exponent = static_cast<int>(bits >> 3 & 15);
    const int mantissa = static_cast<int>(bits & 7);
    const float value = float_from_fp8(fp8);
    if ((bits & 0x7f) == 0x7f) {
      EXPECT_TRUE(std::isnan(value));
      EXPECT_EQ(fp8_from_float(value), fp8);
      continue;
    }
    const double magnitude = exponent == 0 ? std::ldexp(mantissa / 8.0, -6)
                                           : std::ldexp(1 + mantissa / 8.0, exponent - 7);
    ASSERT_EQ(value, bits < 128 ? magnitude : -magnitude);
    ASSERT_EQ(std::signbit(value), bits >= 128);
    ASSERT_EQ(fp8_from_float(value), fp8);
  }
}

TEST(FloatBits, Fp8RoundsBetweenNeighboursToNearestEvenAndSaturates) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (uint32_t bits = 0; bits < 0x7e; ++bits) {
    const float low = float_from_fp8(static_cast<uint8_t>(bits));
    const float high = float_from_fp8(static_cast<uint8_t>(bits + 1));
    const float middle = low + (high - low) / 2;
    ASSERT_EQ(fp8_from_float(middle), bits + (bits & 1));
    ASSERT_EQ(fp8_from_float(std::nextafter(middle, low)), bits);
    ASSERT_EQ(fp8_from_float(std::nextafter(middle, high)), bits + 1);
    ASSERT_EQ(fp8_from_float(-std::nextafter(middle, high)), 0x80 | (bits + 1));
  }
  for (const float beyond : {448.0f, 463.9f, 464.0f, 1e6f, 3e38f, infinity}) {
    EXPECT_EQ(fp8_from_float(beyond), 0x7e);
    EXPECT_EQ(fp8_from_float(-beyond), 0xfe);
  }
  EXPECT_EQ(fp8_from_float(1e-40f), 0);
  EXPECT_TRUE(std::isnan(float_from_fp8(fp8_from_float(std::nanf("1")))));
}

TEST(FloatBits, Bf16RoundsBetweenNeighboursToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7f7f; ++bits) {
    const float low = float_from_bf16(static_cast<uint16_t>(bits));
    const float middle = std::bit_cast<float>(std::bit_cast<uint32_t>(low) | 0x8000u);
    ASSERT_EQ(bf16_from_float(middle), bits + (bits & 1));
    ASSERT_EQ(bf16_from_float(std::nextafter(middle, 0.0f)), bits);
    ASSERT_EQ(bf16_from_float(std::nextafter(middle, 1e38f * 10)), bits + 1);
  }
  EXPECT_EQ(bf16_from_float(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_TRUE(std::isnan(float_from_bf16(bf16_from_float(std::nanf("1")))));
  // A NaN whose payload lies in the dropped half must not become infinity.
  EXPECT_TRUE(std::isnan(float_from_bf16(bf16_from_float(std::bit_cast<float>(0x7f800001u)))));
}

// Reads the packed form back by the geometry that packed_shape.h states.
float element(const PackedMatrix& matrix, int64_t panel, int64_t column, size_t segment,
              int64_t input) {
  const PackedShape& shape = matrix.shape();
  int64_t at = panel * shape.padded_k() * panel_width;
  for (size_t s = 0; s < segment; ++s)
    at += (shape.segments[s] + shape.unit() - 1) / shape.unit() * shape.unit() * panel_width;
  at += (input / shape.unit() * panel_width + column) * shape.unit() + input % shape.unit();
  if (shape.dtype == DType::f32) return reinterpret_cast<const float*>(matrix.data())[at];
  const uint16_t bits = reinterpret_cast<const uint16_t*>(matrix.data())[at];
  return shape.dtype == DType::bf16 ? float_from_bf16(bits) : float_from_f16(bits);
}

float converted(float value, DType to) {
  if (to == DType::bf16) return float_from_bf16(bf16_from_float(value));
  if (to == DType::f16) return float_from_f16(f16_from_float(value));
  return value;
}

TEST(PackedMatrix, PutsEveryElementInItsPlaceAndZerosElsewhere) {
  const std::vector<int64_t> segments = {3, 0, 4, 1};
  constexpr int64_t k = 8;
  for (DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (PanelOrder order : {PanelOrder::plain, PanelOrder::gate_up}) {
      const int64_t n = 70;
      const auto source = random_floats(n * k, 1);
      PackedMatrix matrix({n, segments, dtype, order});
      ASSERT_EQ(matrix.bytes(), matrix.shape().bytes());
      // Rows come in any order and number.
      matrix.pack_rows(50, 20, source.data() + 50 * k, k * 4, DType::f32);
      matrix.pack_rows(0, 1, source.data(), k * 4, DType::f32);
      matrix.pack_rows(1, 49, source.data() + k, k * 4, DType::f32);
      const int64_t half = order == PanelOrder::gate_up ? 2 : 1;
      double sum = 0.0;
      for (int64_t row = 0; row < n; ++row) {
        const int64_t output = row % (n / half);
        const int64_t panel = output / 32 * half + row / (n / half);
        int64_t input = 0;
        for (size_t s = 0; s < segments.size(); ++s) {
          for (int64_t i = 0; i < segments[s]; ++i, ++input) {
            const float expected = converted(source[static_cast<size_t>(row * k + input)], dtype);
            ASSERT_EQ(element(matrix, panel, output % 32, s, i), expected);
            sum += std::abs(expected);
          }
        }
      }
      // What is left is padding: everything together sums to no more.
      double all = 0.0;
      for (int64_t panel = 0; panel < matrix.shape().panels(); ++panel)
        for (int64_t column = 0; column < 32; ++column)
          for (size_t s = 0; s < segments.size(); ++s)
            for (int64_t i = 0; i < (segments[s] + matrix.shape().unit() - 1) /
                                        matrix.shape().unit() * matrix.shape().unit();
                 ++i)
              all += std::abs(element(matrix, panel, column, s, i));
      EXPECT_DOUBLE_EQ(all, sum);
    }
  }
}

TEST(PackedMatrix, ConvertsFromEveryStoredType) {
  const auto values = random_floats(2 * 5, 2);
  std::vector<uint16_t> bf16, f16;
  for (const float value : values) {
    bf16.push_back(bf16_from_float(value));
    f16.push_back(f16_from_float(value));
  }
  for (DType to : {DType::f32, DType::bf16, DType::f16}) {
    PackedMatrix from_bf16({2, {5}, to, PanelOrder::plain});
    from_bf16.pack_rows(0, 2, bf16.data(), 10, DType::bf16);
    PackedMatrix from_f16({2, {5}, to, PanelOrder::plain});
    from_f16.pack_rows(0, 2, f16.data(), 10, DType::f16);
    for (int64_t row = 0; row < 2; ++row) {
      for (int64_t i = 0; i < 5; ++i) {
        const size_t at = static_cast<size_t>(row * 5 + i);
        EXPECT_EQ(element(from_bf16, 0, row, 0, i), converted(float_from_bf16(bf16[at]), to));
        EXPECT_EQ(element(from_f16, 0, row, 0, i), converted(float_from_f16(f16[at]), to));
      }
    }
  }
}

}  // namespace
}  // namespace dure
