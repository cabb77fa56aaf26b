// Matrices that are kept in a checkpoint's blocks: one panel of them at a time becomes what the
// products read, and is used for all rows of x before the next is made. The numbers are those that
// a loader would have made of the blocks, so the products are the same to the bit.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/vector/vector_backend.h"

namespace dure {
namespace {

static_assert(block_kinds == static_cast<int>(block_formats.size()));

constexpr int64_t chunk_values = most_block_values;  // whole blocks of any format
// Of one row's values in fp32, before they are rounded.
constexpr int64_t values_bytes = chunk_values * static_cast<int64_t>(sizeof(float));

}  // namespace

int64_t VectorBackend::block_scratch_bytes() {
  return values_bytes + panel_width * chunk_values * static_cast<int64_t>(sizeof(float));
}

// The blocks of one output.
struct VectorBackend::RowOfBlocks {
  const std::byte* blocks = nullptr;  // null: no output
  Range held;                         // counted from the weight's first input
  BlockSize size;
  BlockFormat format = BlockFormat::q8_0;
};

VectorBackend::RowOfBlocks VectorBackend::row_of_blocks(const PackedMatrix& matrix, Range inputs,
                                                        int64_t output) {
  if (output < 0) return {};
  const PackedShape::BlockPlace place = matrix.shape().block_place(output);
  const BlockRows& rows = *place.rows;
  const BlockSize size = size_of(rows.format);
  const Range held = in_units(inputs, size.values);
  return {matrix.data() + place.offset + place.output * held.size() * size.bytes, held, size,
          rows.format};
}

// Values [chunk * 256, ...), as far as the row's blocks hold them, to `to` in the panel's type.
void VectorBackend::decode_row(const RowOfBlocks& row, int64_t chunk, DType type, float* values,
                               std::byte* to) const {
  const int64_t each = chunk_values / row.size.values;
  const int64_t begin = std::max(chunk * each, row.held.begin);
  const int64_t end = std::min((chunk + 1) * each, row.held.end);
  if (begin >= end) return;
  const std::byte* const blocks = row.blocks + (begin - row.held.begin) * row.size.bytes;
  const auto* const from = reinterpret_cast<const uint8_t*>(blocks);
  const int64_t count = end - begin;
  // What the same column of the next panel will want: the processor follows no 32 streams. Only an
  // address: it may lie beyond the matrix.
  const auto next = reinterpret_cast<uintptr_t>(from) +
                    static_cast<uintptr_t>(panel_width * row.held.size() * row.size.bytes);
  for (int64_t line = 0; line < count * row.size.bytes; line += 64)
    __builtin_prefetch(reinterpret_cast<const void*>(next + static_cast<uintptr_t>(line)));
  to += (begin - chunk * each) * row.size.values * bytes_of(type);
  const auto kind = static_cast<size_t>(row.format);
  if (type == DType::f32) {
    float* const out = reinterpret_cast<float*>(to);
    if (const auto decode = kernels_.decode_fp32[kind]) return decode(from, count, out);
    return decode_blocks(row.format, blocks, count, out);
  }
  auto* const out = reinterpret_cast<uint16_t*>(to);
  if (const auto decode = kernels_.decode_bf16[kind]) return decode(from, count, out);
  decode_blocks(row.format, blocks, count, values);
  kernels_.round_row(values, count * row.size.values, out);
}

// Inputs [from, from + count) of a segment, which begin at element `at` of the rows of a chunk, to
// their place in the panel's part of that segment.
void VectorBackend::place_inputs(const std::byte* rows, int64_t at, int64_t from, int64_t count,
                                 const PackedShape& shape, std::byte* segment) const {
  const int64_t bytes = bytes_of(shape.dtype);
  const int64_t unit = shape.unit();
  const int64_t stride = chunk_values * bytes;
  // One by one where pairs are cut: at the ends of segments and of what a rank holds.
  const auto place = [&](int64_t i) {
    for (int64_t column = 0; column < panel_width; ++column) {
      const int64_t input = from + i;
      std::memcpy(segment + ((input / unit * panel_width + column) * unit + input % unit) * bytes,
                  rows + column * stride + (at + i) * bytes, static_cast<size_t>(bytes));
    }
  };
  if (at % unit != from % unit) {
    for (int64_t i = 0; i < count; ++i) place(i);
    return;
  }
  int64_t i = 0;
  for (; i < count && (from + i) % unit != 0; ++i) place(i);
  TurnTile tile;
  tile.rows = reinterpret_cast<const uint32_t*>(rows + (at + i) * bytes);
  tile.stride = stride / static_cast<int64_t>(sizeof(uint32_t));
  tile.count = (count - i) / unit;
  tile.out = reinterpret_cast<uint32_t*>(segment + (from + i) * panel_width * bytes);
  kernels_.turn(tile);
  for (i += tile.count * unit; i < count; ++i) place(i);
}

void VectorBackend::make_panel_of_rows(const PackedMatrix& matrix, int64_t panel,
                                       std::byte* scratch, std::byte* out) const {
  const PackedShape& shape = matrix.shape();
  const int64_t bytes = bytes_of(shape.dtype);
  auto* const values = reinterpret_cast<float*>(scratch);
  std::byte* const rows = scratch + values_bytes;
  std::memset(rows, 0, static_cast<size_t>(panel_width * chunk_values * bytes));
  RowOfBlocks columns[panel_width];
  const Range inputs = shape.held_inputs();
  for (int64_t column = 0; column < panel_width; ++column)
    columns[column] = row_of_blocks(matrix, inputs, shape.output_at(panel, column));
  size_t segment = 0;
  int64_t done = 0;  // inputs of the segment
  int64_t input = inputs.begin;
  const int64_t end = inputs.end;
  while (input < end) {
    const int64_t chunk = input / chunk_values;
    for (int64_t column = 0; column < panel_width && columns[column].blocks; ++column)
      decode_row(columns[column], chunk, shape.dtype, values, rows + column * chunk_values * bytes);
    const int64_t chunk_end = std::min((chunk + 1) * chunk_values, end);
    while (input < chunk_end) {
      const int64_t length = shape.segments[segment];
      const int64_t count = std::min(length - done, chunk_end - input);
      place_inputs(rows, input - chunk * chunk_values, done, count, shape, out);
      input += count;
      done += count;
      if (done < length) continue;
      const int64_t padded = (length + shape.unit() - 1) / shape.unit() * shape.unit();
      // The second half of a last pair.
      for (int64_t column = 0; column < panel_width && length < padded; ++column) {
        std::memset(out + ((length / 2 * panel_width + column) * 2 + 1) * bytes, 0,
                    static_cast<size_t>(bytes));
      }
      out += padded * panel_width * bytes;
      done = 0;
      ++segment;
    }
  }
}

void VectorBackend::make_panel(const PackedMatrix& matrix, int64_t panel, std::byte* scratch,
                               std::byte* out) const {
  bool scaled = false;
  for (const BlockRows& rows : matrix.shape().block_rows) scaled = scaled || rows.scales;
  if (!scaled) return make_panel_of_rows(matrix, panel, scratch, out);
  if (!make_panel_of_strip(matrix, panel, out)) make_panel_of_numbers(matrix, panel, out);
}

}  // namespace dure
