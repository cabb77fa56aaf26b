// Formats in which checkpoints store matrices as blocks of small codes with shared scales: how
// large a block is, and the exact numbers that it stands for. A row of a matrix is a whole number
// of blocks. Here are the formats of GGUF files (https://github.com/ggml-org/ggml, docs/gguf.md),
// by their names there, and the codes of other files; all numbers in a block are little-endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dure {

enum class BlockFormat {
  // 32 values; codes of 4, 5 or 8 bits times an fp16 scale, ..._1 plus an fp16 minimum.
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  // 256 values in groups of 16 or 32, whose scales are small integers times an fp16 scale.
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  // 256 values; codes choose 4 or 8 values at once from a book.
  iq1_s,
  iq1_m,
  iq2_xxs,
  iq2_xs,
  iq2_s,
  iq3_xxs,
  iq3_s,
  // Codes of 4 bits choose one of 16 uneven levels: 32 values, or 256 in groups of 32.
  iq4_nl,
  iq4_xs,
  mxfp4,  // 32 values: E2M1 codes times a power of two (OCP Microscaling Formats 1.0)
  // Codes alone, 32 values; their scales lie apart, and several rows together (block_rows.h).
  fp8,  // E4M3
  int8,
  fp4,   // E2M1
  int4,  // 0 to 15; the last of all
};

// Those that hold their scales themselves.
inline constexpr std::array block_formats = {
    BlockFormat::q4_0,    BlockFormat::q4_1,   BlockFormat::q5_0,   BlockFormat::q5_1,
    BlockFormat::q8_0,    BlockFormat::q2_k,   BlockFormat::q3_k,   BlockFormat::q4_k,
    BlockFormat::q5_k,    BlockFormat::q6_k,   BlockFormat::iq1_s,  BlockFormat::iq1_m,
    BlockFormat::iq2_xxs, BlockFormat::iq2_xs, BlockFormat::iq2_s,  BlockFormat::iq3_xxs,
    BlockFormat::iq3_s,   BlockFormat::iq4_nl, BlockFormat::iq4_xs, BlockFormat::mxfp4,
};

inline constexpr int64_t most_block_values = 256;

struct BlockSize {
  int64_t values = 0;
  int64_t bytes = 0;
};

BlockSize size_of(BlockFormat format);
std::string_view to_string(BlockFormat format);  // "q4_k"

// The numbers of `count` blocks of those that hold their scales, count * size_of(format).values of
// them, in fp32 and by the operations of the format's definition, in their order: an exact engine
// multiplies with these.
void decode_blocks(BlockFormat format, const std::byte* blocks, int64_t count, float* to);

// What the codes of iq4_nl and iq4_xs stand for, and those of mxfp4, twice as large as E2M1's so
// that they are whole (its scale is halved).
inline constexpr std::array<int8_t, 16> iq4_levels = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                      1,    13,   25,  38,  53,  69,  89,  113};
inline constexpr std::array<int8_t, 16> mxfp4_levels = {0, 1,  2,  3,  4,  6,  8,  12,
                                                        0, -1, -2, -3, -4, -6, -8, -12};
// 2^(exponent - 128), the scale of those.
float mxfp4_scale(uint8_t exponent);

}  // namespace dure
