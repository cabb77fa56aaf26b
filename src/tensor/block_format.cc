// See block_format.h: one table of the formats.
#include "tensor/block_format.h"

#include <bit>

#include "base/error.h"
#include "tensor/block_decoders.h"

namespace dure {
namespace {

struct Entry {
  BlockFormat format;
  std::string_view name;
  BlockSize size;
  void (*decode)(const uint8_t* block, float* to);
};

constexpr std::array entries = {
    Entry{BlockFormat::q4_0, "q4_0", {32, 18}, decode_q4_0},
    Entry{BlockFormat::q4_1, "q4_1", {32, 20}, decode_q4_1},
    Entry{BlockFormat::q5_0, "q5_0", {32, 22}, decode_q5_0},
    Entry{BlockFormat::q5_1, "q5_1", {32, 24}, decode_q5_1},
    Entry{BlockFormat::q8_0, "q8_0", {32, 34}, decode_q8_0},
    Entry{BlockFormat::q2_k, "q2_k", {256, 84}, decode_q2_k},
    Entry{BlockFormat::q3_k, "q3_k", {256, 110}, decode_q3_k},
    Entry{BlockFormat::q4_k, "q4_k", {256, 144}, decode_q4_k},
    Entry{BlockFormat::q5_k, "q5_k", {256, 176}, decode_q5_k},
    Entry{BlockFormat::q6_k, "q6_k", {256, 210}, decode_q6_k},
    Entry{BlockFormat::iq1_s, "iq1_s", {256, 50}, decode_iq1_s},
    Entry{BlockFormat::iq1_m, "iq1_m", {256, 56}, decode_iq1_m},
    Entry{BlockFormat::iq2_xxs, "iq2_xxs", {256, 66}, decode_iq2_xxs},
    Entry{BlockFormat::iq2_xs, "iq2_xs", {256, 74}, decode_iq2_xs},
    Entry{BlockFormat::iq2_s, "iq2_s", {256, 82}, decode_iq2_s},
    Entry{BlockFormat::iq3_xxs, "iq3_xxs", {256, 98}, decode_iq3_xxs},
    Entry{BlockFormat::iq3_s, "iq3_s", {256, 110}, decode_iq3_s},
    Entry{BlockFormat::iq4_nl, "iq4_nl", {32, 18}, decode_iq4_nl},
    Entry{BlockFormat::iq4_xs, "iq4_xs", {256, 136}, decode_iq4_xs},
    Entry{BlockFormat::mxfp4, "mxfp4", {32, 17}, decode_mxfp4},
    Entry{BlockFormat::fp8, "fp8", {32, 32}, nullptr},
    Entry{BlockFormat::int8, "int8", {32, 32}, nullptr},
    Entry{BlockFormat::fp4, "fp4", {32, 16}, nullptr},
    Entry{BlockFormat::int4, "int4", {32, 16}, nullptr},
};

constexpr bool in_order() {
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].format != static_cast<BlockFormat>(i)) return false;
    if (i < block_formats.size() && block_formats[i] != entries[i].format) return false;
  }
  return entries.back().format == BlockFormat::int4;
}
static_assert(in_order());

const Entry& entry_of(BlockFormat format) {
  const auto index = static_cast<size_t>(format);
  DURE_CHECK(index < entries.size());
  return entries[index];
}

}  // namespace

BlockSize size_of(BlockFormat format) {
  return entry_of(format).size;
}

std::string_view to_string(BlockFormat format) {
  return entry_of(format).name;
}

void decode_blocks(BlockFormat format, const std::byte* blocks, int64_t count, float* to) {
  const Entry& entry = entry_of(format);
  DURE_CHECK(entry.decode != nullptr);  // codes alone are no numbers
  const auto* from = reinterpret_cast<const uint8_t*>(blocks);
  for (int64_t i = 0; i < count; ++i) {
    entry.decode(from + i * entry.size.bytes, to + i * entry.size.values);
  }
}

float mxfp4_scale(uint8_t exponent) {
  // 2^-128 and 2^-127 are subnormal.
  const uint32_t bits =
      exponent < 2 ? 0x00200000u << exponent : static_cast<uint32_t>(exponent - 1) << 23;
  return std::bit_cast<float>(bits);
}

}  // namespace dure
