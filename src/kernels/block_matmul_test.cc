// Products with matrices in a checkpoint's blocks: the bits of those that a loader makes of the
// same blocks, on every instruction set.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/backend.h"
#include "kernels/compare_floats.h"
#include "kernels/product_cases.h"
#include "kernels/random_data.h"

namespace dure {
namespace {

// Random bytes, but for scales that make numbers of a weight's size.
void fill_blocks(BlockFormat format, std::byte* to, int64_t count, std::mt19937& random) {
  const BlockSize size = size_of(format);
  std::vector<float> values(static_cast<size_t>(size.values));
  for (int64_t i = 0; i < count; ++i, to += size.bytes) {
    bool usual = false;
    while (!usual) {
      for (int64_t byte = 0; byte < size.bytes; ++byte) to[byte] = static_cast<std::byte>(random());
      decode_blocks(format, to, 1, values.data());
      usual = true;
      for (const float value : values) usual = usual && std::abs(value) < 1e4f;  // not NaN
    }
  }
}

// Random codes, and scales of a weight's size, groups of each input in any order.
void fill_codes(const BlockRows& rows, Range held, std::byte* kept, std::mt19937& random) {
  for (int64_t at = 0; at < rows.code_bytes(held); ++at) {
    kept[at] = static_cast<std::byte>(random() % 0x7f | random() % 2 << 7);  // NaN in fp8 is 0x7f
  }
  const ScaleLayout layout = rows.scales_of(held);
  std::byte* const tables = kept + rows.code_bytes(held);
  const auto number = [&](float size) { return size * static_cast<float>(1 + random() % 1000); };
  for (int64_t at = 0; at < layout.scales; ++at) tables[at] = static_cast<std::byte>(random());
  for (int64_t at = layout.scales; at < layout.factor; at += layout.scale_bytes) {
    // Now and then one whose products are subnormal, or nearly infinite.
    const uint32_t kind = random() % 40;
    const float scale = number(kind == 0 ? 1e-42f : kind == 1 ? 1e29f : 1e-5f);
    const auto bits = std::bit_cast<uint32_t>(scale);
    const uint16_t half = static_cast<uint16_t>(0x1000 + random() % 0x1000);
    const auto byte = static_cast<uint8_t>(0x70 + random() % 12);
    switch (rows.scales->type) {
      case ScaleType::f32:
        std::memcpy(tables + at, &bits, 4);
        break;
      case ScaleType::bf16:
        std::memcpy(tables + at, reinterpret_cast<const std::byte*>(&bits) + 2, 2);
        break;
      case ScaleType::f16:
        std::memcpy(tables + at, &half, 2);
        break;
      case ScaleType::e4m3:
      case ScaleType::e8m0:
        std::memcpy(tables + at, &byte, 1);
        break;
    }
  }
  const float factor = number(1e-3f);
  if (rows.scales->factor) std::memcpy(tables + layout.factor, &factor, 4);
  for (int64_t at = layout.listed; at < layout.bytes; at += 4) {
    const auto group = static_cast<int32_t>(random() % static_cast<uint32_t>(layout.groups.size()));
    std::memcpy(tables + at, &group, 4);
  }
}

// A matrix in blocks, and what a loader would make of it.
struct Both {
  PackedMatrix blocks;
  PackedMatrix made;

  Both(const PackedShape& shape, uint32_t seed) : blocks(shape) {
    PackedShape plain = shape;
    plain.block_rows.clear();
    made = PackedMatrix(plain);
    std::mt19937 random(seed);
    const Range held = shape.held_inputs();
    std::vector<float> row(static_cast<size_t>(held.size()));
    int64_t output = 0;
    for (size_t i = 0; i < shape.block_rows.size(); ++i) {
      const BlockRows& rows = shape.block_rows[i];
      if (rows.scales) {
        fill_codes(rows, held, blocks.blocks_of(i), random);
      } else {
        fill_blocks(rows.format, blocks.blocks_of(i), rows.count * rows.blocks_of(held).size(),
                    random);
      }
      for (int64_t own = 0; own < rows.count; ++own, ++output) {
        rows.decode(blocks.blocks_of(i), held, own, row.data());
        made.pack_rows(output, 1, row.data(), 0, DType::f32);
      }
    }
  }
};

PackedShape shape_of(int64_t n, std::vector<int64_t> segments, BlockFormat format,
                     int64_t first_input = 0) {
  PackedShape shape;
  shape.n = n;
  shape.segments = std::move(segments);
  shape.first_input = first_input;
  shape.block_rows = {{n, format}};
  return shape;
}

// Codes and scales as quantization tools write them.
std::vector<BlockRows> scaled_rows() {
  using enum ScaleType;
  return {
      {0, BlockFormat::fp8, RowScales{.type = f32, .rows = 128, .inputs = 128, .first_row = 100}},
      {0, BlockFormat::fp8, RowScales{.type = bf16, .rows = 1}},
      {0, BlockFormat::fp8, RowScales{.type = f32, .rows = 0}},
      {0, BlockFormat::fp8, RowScales{.type = f32, .rows = 3, .inputs = 7}},
      {0, BlockFormat::int8, RowScales{.type = f32, .rows = 1}},
      {0, BlockFormat::fp4, RowScales{.type = e8m0, .inputs = 32}},
      {0, BlockFormat::fp4, RowScales{.type = e4m3, .inputs = 16, .factor = true}},
      {0, BlockFormat::fp4,
       RowScales{.type = e4m3, .inputs = 16, .factor = true, .factor_divides = true}},
      {0, BlockFormat::int4, RowScales{.type = f16, .inputs = 128, .zeros = true, .zero = 1}},
      {0, BlockFormat::int4, RowScales{.type = f16, .inputs = 64, .zero = 8}},
      {0, BlockFormat::int4,
       RowScales{.type = f16, .inputs = 128, .listed_groups = 5, .zeros = true}},
  };
}

std::vector<PackedShape> shapes() {
  std::vector<PackedShape> all;
  for (const BlockRows& rows : scaled_rows()) {
    for (PackedShape shape :
         {shape_of(40, {512}, rows.format), shape_of(33, pieces(768, 8), rows.format),
          shape_of(5, pieces(300, 4), rows.format, 200),
          shape_of(32, {33, 0, 2, 61}, rows.format, 31), shape_of(1, {1}, rows.format, 255)}) {
      shape.block_rows[0].scales = rows.scales;
      all.push_back(shape);
    }
  }
  for (const BlockFormat format : block_formats) {
    all.push_back(shape_of(40, {512}, format));
    all.push_back(shape_of(33, pieces(768, 8), format));
    // Ranks whose inputs begin and end within blocks, at odd places too.
    all.push_back(shape_of(5, pieces(300, 4), format, 200));
    all.push_back(shape_of(32, {33, 0, 2, 61}, format, 31));
    all.push_back(shape_of(1, {1}, format, 255));
  }
  all.push_back(shape_of(64, pieces(3000, 8), BlockFormat::q4_k, 96));
  all.push_back(shape_of(8, {0, 0}, BlockFormat::q8_0, 64));
  // Neighbours in different blocks, with borders within panels.
  PackedShape mixed = shape_of(70, pieces(640, 2), BlockFormat::q4_k, 128);
  mixed.block_rows = {{20, BlockFormat::q4_k}, {33, BlockFormat::q6_k}, {17, BlockFormat::q8_0}};
  all.push_back(mixed);
  return all;
}

class BlockMatmulOnIsa : public testing::TestWithParam<std::string_view> {};

TEST_P(BlockMatmulOnIsa, GivesTheBitsOfMatricesThatWereMadeOfTheBlocks) {
  const auto backend = make_cpu_backend(2, GetParam());
  for (PackedShape shape : shapes()) {
    for (const Compute compute : {Compute::bf16, Compute::fp32}) {
      shape.dtype = compute == Compute::bf16 ? DType::bf16 : DType::f32;
      const Both w(shape, 1);
      for (const int64_t rows : {1, 3, 29}) {
        const auto x = random_floats(rows * shape.k(), 3);
        ASSERT_TRUE(same_bits(multiply(*backend, x, rows, w.blocks, compute),
                              multiply(*backend, x, rows, w.made, compute)))
            << to_string(shape.block_rows[0].format) << " n " << shape.n << " k " << shape.k()
            << " from " << shape.first_input << " rows " << rows << " " << to_string(compute);
      }
    }
  }
}

TEST_P(BlockMatmulOnIsa, OfExpertsAndGatesToo) {
  const auto backend = make_cpu_backend(2, GetParam());
  PackedShape shape = shape_of(2 * 45, pieces(320, 2), BlockFormat::q6_k, 64);
  shape.order = PanelOrder::gate_up;
  shape.block_rows = {{45, BlockFormat::q6_k}, {45, BlockFormat::iq4_xs}};
  std::vector<PackedMatrix> blocks;
  std::vector<PackedMatrix> made;
  for (uint32_t expert = 0; expert < 3; ++expert) {
    Both both(shape, expert);
    blocks.push_back(std::move(both.blocks));
    made.push_back(std::move(both.made));
  }
  const std::vector<int32_t> source = {3, 0, 2, 2, 1};
  const std::vector<int32_t> begin = {0, 2, 2, 5};
  const auto x = random_floats(4 * 320, 7);
  std::vector<float> out(5 * 45);
  std::vector<float> expected(5 * 45);
  backend->grouped_matmul_glu(x.data(), {source, begin}, blocks, nullptr, nullptr, {},
                              Compute::bf16, out.data());
  backend->grouped_matmul_glu(x.data(), {source, begin}, made, nullptr, nullptr, {}, Compute::bf16,
                              expected.data());
  EXPECT_TRUE(same_bits(out, expected));
  out.resize(4 * 45);
  expected.resize(4 * 45);
  backend->matmul_glu(x.data(), 4, blocks[1], nullptr, nullptr, {}, Compute::bf16, out.data());
  backend->matmul_glu(x.data(), 4, made[1], nullptr, nullptr, {}, Compute::bf16, expected.data());
  EXPECT_TRUE(same_bits(out, expected));
}

INSTANTIATE_TEST_SUITE_P(, BlockMatmulOnIsa, testing::ValuesIn(cpu_isas()), [](const auto& info) {
  std::string name(info.param);
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace dure
