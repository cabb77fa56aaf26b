// Weights as codes: how far they may be off, and that every code comes back from its place.
#include "kernels/pack_codes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/packed_matrix.h"
#include "kernels/random_data.h"
#include "tensor/float_bits.h"

namespace dure {
namespace {

struct Group {
  std::vector<uint8_t> codes;
  float scale = 0.0f;

  Group(const std::vector<float>& weights, CodeFormat format) : codes(weights.size()) {
    uint16_t bits = 0;
    quantize_group(weights.data(), static_cast<int64_t>(weights.size()), format, codes.data(),
                   &bits);
    scale = float_from_f16(bits);
  }
};

TEST(QuantizeGroup, KeepsEveryWeightWithinHalfAStepAndScalesAsSmallAsTheyCanBe) {
  for (CodeFormat format : {CodeFormat::q8, CodeFormat::q4}) {
    for (int exponent = -24; exponent <= 12; ++exponent) {
      for (int64_t count : {1, 3, 16, 31, 32}) {
        auto weights = random_floats(count, static_cast<uint32_t>(100 + exponent));
        float largest = 0.0f;
        for (float& weight : weights) {
          weight = std::ldexp(weight, exponent);
          largest = std::max(largest, std::abs(weight));
        }
        const Group group(weights, format);
        const float step = std::abs(group.scale);
        const float codes_of_one_sign = format == CodeFormat::q8 ? 127.0f : 8.0f;
        EXPECT_GE(step * codes_of_one_sign, largest);
        EXPECT_LE(step, largest / codes_of_one_sign * (1 + 0x1p-10f) + 0x1p-24f);
        for (size_t i = 0; i < weights.size(); ++i) {
          const double value =
              double{group.scale} * (static_cast<int>(group.codes[i]) - code_zero(format));
          // Where the code for 8 would be needed, 7 is the nearest there is.
          const bool cut = format == CodeFormat::q4 && group.codes[i] == 15;
          // The product with 1 / step rounds three times: 2^-22 of at most 128.
          ASSERT_NEAR(value, weights[i], step * (cut ? 1.0 : 0.5 + 0x1p-15))
              << to_string(format) << " " << weights[i];
        }
      }
    }
  }
}

TEST(QuantizeGroup, ZerosStayZerosAndWhatIsNoNumberMakesTheGroupNone) {
  for (CodeFormat format : {CodeFormat::q8, CodeFormat::q4}) {
    const Group zeros({0.0f, -0.0f, 0.0f}, format);
    EXPECT_EQ(zeros.scale, 0.0f);
    EXPECT_EQ(zeros.codes[0], code_zero(format));
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(),
                            -std::numeric_limits<float>::infinity(), 3e38f}) {
      EXPECT_TRUE(std::isnan(Group({1.0f, bad, 2.0f}, format).scale)) << bad;
      EXPECT_TRUE(std::isnan(Group({bad, 1.0f}, format).scale)) << bad;
    }
  }
}

TEST(QuantizeGroup, TheScaleOf4BitsHasTheSignThatGivesTheLargestItsCode) {
  const Group group({1.0f, -8.0f, 3.0f}, CodeFormat::q4);
  EXPECT_EQ(group.scale, 1.0f);
  EXPECT_EQ(group.codes, (std::vector<uint8_t>{9, 0, 11}));
  const Group turned({1.0f, 8.0f, 3.0f}, CodeFormat::q4);
  EXPECT_EQ(turned.scale, -1.0f);
  EXPECT_EQ(turned.codes, (std::vector<uint8_t>{7, 0, 5}));
}

TEST(PackedMatrix, PutsEveryCodeInItsPlaceInAnyOrderOfRows) {
  const std::vector<int64_t> segments = {40, 0, 7, 33};
  constexpr int64_t k = 80;
  constexpr int64_t n = 70;
  for (CodeFormat format : {CodeFormat::q8, CodeFormat::q4}) {
    for (PanelOrder order : {PanelOrder::plain, PanelOrder::gate_up}) {
      const PackedShape shape{
          .n = n, .segments = segments, .order = order, .codes = format, .first_input = 5};
      const auto source = random_floats(n * k, 1);
      PackedMatrix matrix(shape);
      matrix.pack_rows(50, 20, source.data() + 50 * k, k * 4, DType::f32);
      matrix.pack_rows(0, 1, source.data(), k * 4, DType::f32);
      matrix.pack_rows(1, 49, source.data() + k, k * 4, DType::f32);
      const int64_t half = order == PanelOrder::gate_up ? 2 : 1;
      const CodeGroups groups = shape.groups();
      for (int64_t row = 0; row < n; ++row) {
        const int64_t output = row % (n / half);
        const int64_t panel = output / 32 * half + row / (n / half);
        CodeReader reader(matrix.data() + panel * shape.panel_bytes(), format, output % 32);
        const float* weights = source.data() + row * k;
        for (const int32_t count : groups.inputs) {
          const Group expected({weights, weights + count}, format);
          int32_t whole[code_group];
          ASSERT_EQ(reader.read(count, whole), expected.scale);
          for (int32_t i = 0; i < count; ++i)
            ASSERT_EQ(whole[i], expected.codes[static_cast<size_t>(i)] - code_zero(format));
          weights += count;
        }
      }
    }
  }
}

TEST(PackedMatrix, MakesTheSameCodesOfEveryStoredTypeThatHoldsTheNumbers) {
  auto values = random_floats(3 * 50, 2);
  std::vector<uint16_t> bf16, f16;
  for (float& value : values) {
    value = float_from_bf16(bf16_from_float(value));
    if (std::abs(value) < 0x1p-13f) value = 0.0f;  // all bits of the others fit fp16
    bf16.push_back(bf16_from_float(value));
    f16.push_back(f16_from_float(value));
  }
  const PackedShape shape{.n = 3, .segments = {50}, .codes = CodeFormat::q8};
  PackedMatrix from_f32(shape), from_bf16(shape), from_f16(shape);
  from_f32.pack_rows(0, 3, values.data(), 200, DType::f32);
  from_bf16.pack_rows(0, 3, bf16.data(), 100, DType::bf16);
  from_f16.pack_rows(0, 3, f16.data(), 100, DType::f16);
  const std::vector<std::byte> expected(from_f32.data(), from_f32.data() + shape.bytes());
  EXPECT_EQ(expected, std::vector(from_bf16.data(), from_bf16.data() + shape.bytes()));
  EXPECT_EQ(expected, std::vector(from_f16.data(), from_f16.data() + shape.bytes()));
}

}  // namespace
}  // namespace dure
