// See packed_matrix.h.
#include "kernels/packed_matrix.h"

#include <cstring>
#include <utility>

#include "base/error.h"
#include "kernels/pack_codes.h"
#include "tensor/float_bits.h"

namespace dure {
namespace {

float load_float(const std::byte* source, DType type) {
  if (type == DType::f32) {
    float value;
    std::memcpy(&value, source, sizeof value);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, source, sizeof bits);
  return type == DType::bf16 ? float_from_bf16(bits) : float_from_f16(bits);
}

void store_float(std::byte* target, DType type, float value) {
  if (type == DType::f32) {
    std::memcpy(target, &value, sizeof value);
    return;
  }
  const uint16_t bits = type == DType::bf16 ? bf16_from_float(value) : f16_from_float(value);
  std::memcpy(target, &bits, sizeof bits);
}

// Writes `count` inputs of one output: input i goes to element (i / unit) * 32 * unit + i % unit.
void pack_run(const std::byte* source, DType source_type, int64_t count, std::byte* column,
              DType type) {
  const int64_t from = bytes_of(source_type);
  const int64_t to = bytes_of(type);
  const int64_t unit = type == DType::bf16 ? 2 : 1;
  const int64_t step = panel_width * unit * to;
  if (source_type == type && unit == 2) {
    for (int64_t pair = 0; pair < count / 2; ++pair)
      std::memcpy(column + pair * step, source + pair * 4, 4);
    if (count % 2 != 0) std::memcpy(column + count / 2 * step, source + (count - 1) * 2, 2);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    std::byte* target = column + i / unit * step + i % unit * to;
    if (source_type == type) {
      std::memcpy(target, source + i * from, static_cast<size_t>(from));
    } else {
      store_float(target, type, load_float(source + i * from, source_type));
    }
  }
}

}  // namespace

PackedMatrix::PackedMatrix(PackedShape shape)
    : shape_(std::move(shape)), buffer_(shape_.bytes()), data_(buffer_.data()) {}

PackedMatrix::PackedMatrix(PackedShape shape, std::byte* memory)
    : shape_(std::move(shape)), data_(memory) {
  DURE_CHECK(reinterpret_cast<uintptr_t>(memory) % 64 == 0);
}

PackedMatrix::Place PackedMatrix::place_of(int64_t row) const {
  if (shape_.order == PanelOrder::plain) return {row / panel_width, row % panel_width};
  const int64_t half = shape_.n / 2;
  const int64_t output = row < half ? row : row - half;
  return {output / panel_width * 2 + (row < half ? 0 : 1), output % panel_width};
}

void PackedMatrix::pack_coded_row(const std::byte* row, DType type, const CodeGroups& groups,
                                  Place to) {
  CodeWriter column(data_ + to.panel * groups.panel_bytes(shape_.codes), shape_.codes, to.column);
  float weights[code_group];
  uint8_t codes[code_group];
  for (const int32_t count : groups.inputs) {
    for (int64_t i = 0; i < count; ++i) weights[i] = load_float(row + i * bytes_of(type), type);
    uint16_t scale = 0;
    quantize_group(weights, count, shape_.codes, codes, &scale);
    column.write(codes, count, scale);
    row += count * bytes_of(type);
  }
}

std::byte* PackedMatrix::blocks_of(size_t index) {
  std::byte* at = data_;
  for (size_t i = 0; i < index; ++i) at += shape_.block_rows[i].bytes(shape_.held_inputs());
  return at;
}

void PackedMatrix::pack_rows(int64_t first, int64_t rows, const void* source, int64_t stride,
                             DType source_type) {
  DURE_CHECK(first >= 0 && rows >= 0 && first + rows <= shape_.n && !shape_.in_blocks());
  const int64_t panel_bytes = shape_.panel_bytes();
  if (panel_bytes == 0) return;  // a rank without columns of K has no bytes to point into
  const CodeGroups groups = shape_.coded() ? shape_.groups() : CodeGroups{};
  const int64_t unit_bytes = shape_.coded() ? 0 : shape_.unit() * bytes_of(shape_.dtype);
  for (int64_t row = first; row < first + rows; ++row) {
    const Place place = place_of(row);
    const std::byte* in = static_cast<const std::byte*>(source) + (row - first) * stride;
    if (shape_.coded()) {
      pack_coded_row(in, source_type, groups, place);
      continue;
    }
    std::byte* out = data_ + place.panel * panel_bytes + place.column * unit_bytes;
    for (int64_t length : shape_.segments) {
      pack_run(in, source_type, length, out, shape_.dtype);
      in += length * bytes_of(source_type);
      out += (length + shape_.unit() - 1) / shape_.unit() * panel_width * unit_bytes;
    }
  }
}

}  // namespace dure
