// Products with matrices in a checkpoint's blocks: the bits of those that a loader makes of the
// same blocks, on every instruction set.
#include <gtest/gtest.h>

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

// A matrix in blocks, and what a loader would make of it.
struct Both {
  PackedMatrix blocks;
  PackedMatrix made;

  Both(const PackedShape& shape, uint32_t seed) : blocks(shape) {
    PackedShape plain = shape;
    plain.block_rows.clear();
    made = PackedMatrix(plain);
    std::mt19937 random(seed);
    for (int64_t output = 0; output < shape.n; ++output) {
      const BlockFormat format = shape.block_row(output).format;
      const Range held = shape.blocks_of_row(format);
      if (held.size() == 0) continue;
      fill_blocks(format, blocks.blocks_of(output), held.size(), random);
      const int64_t values = size_of(format).values;
      std::vector<float> row(static_cast<size_t>(held.size() * values));
      decode_blocks(format, blocks.blocks_of(output), held.size(), row.data());
      made.pack_rows(output, 1, row.data() + (shape.first_input - held.begin * values), 0,
                     DType::f32);
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

std::vector<PackedShape> shapes() {
  std::vector<PackedShape> all;
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
