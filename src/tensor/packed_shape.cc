// See packed_shape.h.
#include "tensor/packed_shape.h"

#include <algorithm>
#include <numeric>

namespace dure {

std::vector<int64_t> whole_segment(int64_t k) {
  return {k};
}

std::vector<int64_t> tree_segments_of(int64_t total, Range held) {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < tree_segments; ++i) {
    const int64_t begin = std::max(total * i / tree_segments, held.begin);
    const int64_t end = std::min(total * (i + 1) / tree_segments, held.end);
    // An empty segment inside the held range stays: it keeps the shape of the tree.
    const bool inside =
        total * i / tree_segments >= held.begin && total * (i + 1) / tree_segments <= held.end;
    if (end > begin || inside) lengths.push_back(std::max<int64_t>(end - begin, 0));
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
  int64_t sum = 0;
  for (int64_t length : segments) sum += (length + unit() - 1) / unit() * unit();
  return sum;
}

int64_t PackedShape::bytes() const {
  return panels() * panel_width * padded_k() * bytes_of(dtype);
}

}  // namespace dure
