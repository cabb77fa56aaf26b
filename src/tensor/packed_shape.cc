// See packed_shape.h.
#include "tensor/packed_shape.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace dure {

std::vector<int64_t> whole_segment(int64_t k) {
  return {k};
}

bool keeps_subtrees(int parts) {
  return parts >= 1 && parts <= tree_segments && tree_segments % parts == 0;
}

std::vector<int64_t> tree_segments_of(int64_t units, int64_t unit, int parts, int index) {
  const auto border = [units](int64_t i) { return units * i / tree_segments; };
  std::vector<int64_t> lengths;
  if (keeps_subtrees(parts)) {
    const int64_t each = tree_segments / parts;
    for (int64_t i = index * each; i < (index + 1) * each; ++i) {
      lengths.push_back((border(i + 1) - border(i)) * unit);
    }
    return lengths;
  }
  const int64_t begin = units * index / parts;
  const int64_t end = units * (index + 1) / parts;
  for (int64_t i = 0; i < tree_segments; ++i) {
    const int64_t length = std::min(border(i + 1), end) - std::max(border(i), begin);
    if (length > 0) lengths.push_back(length * unit);
  }
  return lengths;
}

int64_t PackedShape::k() const {
  return std::accumulate(segments.begin(), segments.end(), int64_t{0});
}

int64_t PackedShape::panels() const {
  const int64_t halves = order == PanelOrder::gate_up ? 2 : 1;
  return halves * ((n / halves + panel_width - 1) / panel_width);
}

int64_t PackedShape::padded_k() const {
  if (coded()) return groups().padded_inputs();
  int64_t sum = 0;
  for (int64_t length : segments) sum += (length + unit() - 1) / unit() * unit();
  return sum;
}

int64_t PackedShape::panel_bytes() const {
  return coded() ? groups().panel_bytes(codes) : panel_width * padded_k() * bytes_of(dtype);
}

int64_t PackedShape::bytes() const {
  if (!in_blocks()) return panels() * panel_bytes();
  int64_t sum = 0;
  for (const BlockRows& rows : block_rows) sum += rows.bytes(held_inputs());
  return sum;
}

PackedShape::BlockPlace PackedShape::block_place(int64_t output) const {
  int64_t offset = 0;
  for (const BlockRows& rows : block_rows) {
    if (output < rows.count) return {&rows, offset, output};
    offset += rows.bytes(held_inputs());
    output -= rows.count;
  }
  DURE_CHECK(false);
  return {};
}

int64_t PackedShape::output_at(int64_t panel, int64_t column) const {
  const int64_t halves = order == PanelOrder::gate_up ? 2 : 1;
  const int64_t output = panel / halves * panel_width + column;
  return output < n / halves ? panel % halves * (n / halves) + output : -1;
}

bool PackedShape::alike(const PackedShape& other) const {
  if (n != other.n || segments != other.segments || order != other.order || codes != other.codes ||
      block_rows != other.block_rows) {
    return false;
  }
  if (in_blocks() && first_input != other.first_input) return false;
  return coded() ? first_input % code_group == other.first_input % code_group
                 : dtype == other.dtype;
}

}  // namespace dure
