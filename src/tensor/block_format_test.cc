#include "tensor/block_format.h"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace dure {
namespace {

using ::testing::ElementsAreArray;

std::vector<std::byte> bytes_from(const std::vector<int>& values) {
  std::vector<std::byte> bytes;
  for (int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

std::vector<float> decoded(BlockFormat format, const std::vector<std::byte>& bytes) {
  const BlockSize size = size_of(format);
  const auto count = static_cast<int64_t>(bytes.size()) / size.bytes;
  std::vector<float> values(static_cast<size_t>(count * size.values));
  decode_blocks(format, bytes.data(), count, values.data());
  return values;
}

// Blocks of random bytes with scales of all kinds (subnormal, negative), and the numbers that the
// formats' own reference makes of them: the file is the blocks, then the numbers.
TEST(BlockFormat, DecodesToTheBitWhatTheReferenceDecodes) {
  for (BlockFormat format : block_formats) {
    const auto path = std::filesystem::path(DURE_SOURCE_DIR) / "testdata/gguf/blocks" /
                      (std::string(to_string(format)) + ".bin");
    std::ifstream file(path, std::ios::binary);
    const std::string content((std::istreambuf_iterator<char>(file)),
                              std::istreambuf_iterator<char>());
    const BlockSize size = size_of(format);
    const auto of_one = static_cast<size_t>(size.bytes + 4 * size.values);
    ASSERT_FALSE(content.empty()) << path;
    ASSERT_EQ(content.size() % of_one, 0u) << path;
    const size_t count = content.size() / of_one;
    std::vector<std::byte> blocks(count * static_cast<size_t>(size.bytes));
    std::vector<float> expected(count * static_cast<size_t>(size.values));
    std::memcpy(blocks.data(), content.data(), blocks.size());
    std::memcpy(expected.data(), content.data() + blocks.size(), expected.size() * 4);
    const std::vector<float> values = decoded(format, blocks);
    for (size_t i = 0; i < values.size(); ++i) {
      // Zeros may differ in their sign.
      ASSERT_EQ(values[i], expected[i]) << to_string(format) << " value " << i;
    }
  }
}

// Low halves are the first sixteen values, and codes are half of what tables of whole numbers say.
TEST(BlockFormat, Mxfp4KeepsHalvesNotPairs) {
  std::vector<int> bytes = {128};
  for (int i = 0; i < 16; ++i) bytes.push_back(i | (15 - i) << 4);
  const std::vector<float> up = {0.0f,  1.0f,  2.0f,  3.0f,  4.0f,  6.0f,  8.0f,  12.0f,
                                 -0.0f, -1.0f, -2.0f, -3.0f, -4.0f, -6.0f, -8.0f, -12.0f};
  std::vector<float> expected = up;
  expected.insert(expected.end(), up.rbegin(), up.rend());
  const std::vector<float> values = decoded(BlockFormat::mxfp4, bytes_from(bytes));
  EXPECT_THAT(values, ElementsAreArray(expected));
  EXPECT_TRUE(std::signbit(values[8]));
  EXPECT_EQ(mxfp4_scale(0), std::ldexp(1.0f, -128));
  EXPECT_EQ(mxfp4_scale(1), std::ldexp(1.0f, -127));
  EXPECT_EQ(mxfp4_scale(254), std::ldexp(1.0f, 126));
}

TEST(BlockFormat, SubnormalScalesAreMultipliedNotShifted) {
  for (const auto& [low, high, scale] :
       {std::tuple{0x01, 0x00, 0x1p-24f}, std::tuple{0x00, 0x04, 0x1p-14f}}) {
    std::vector<int> bytes = {low, high};
    for (int i = 0; i < 32; ++i) bytes.push_back(i - 16);
    const std::vector<float> values = decoded(BlockFormat::q8_0, bytes_from(bytes));
    for (int i = 0; i < 32; ++i) {
      EXPECT_EQ(values[static_cast<size_t>(i)], static_cast<float>(i - 16) * scale);
      EXPECT_EQ(values[static_cast<size_t>(i)] / 16.0f, static_cast<float>(i - 16) * scale / 16.0f);
    }
  }
}

TEST(BlockFormat, SizesAreThoseOfTheFormats) {
  const BlockSize q4_k = size_of(BlockFormat::q4_k);
  EXPECT_EQ(q4_k.values, 256);
  EXPECT_EQ(q4_k.bytes, 144);  // 4.5 bits a value
  for (BlockFormat format : block_formats) {
    EXPECT_LE(size_of(format).values, most_block_values);
    EXPECT_EQ(most_block_values % size_of(format).values, 0);
  }
}

}  // namespace
}  // namespace dure
