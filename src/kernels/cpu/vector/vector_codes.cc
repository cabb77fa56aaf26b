// Activations as integers for products with integer codes: each row of x is quantized once, then
// gathered into the tiles of all matrices that read it.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/vector/vector_backend.h"
#include "kernels/quantize_inputs.h"

namespace dure {

VectorBackend::QuantizedRow VectorBackend::quantized_row(int64_t row) const {
  std::byte* const at = quantized_x_.data() + row * quantized_row_bytes_;
  const auto groups = static_cast<int64_t>(code_groups_.inputs.size());
  return {reinterpret_cast<int8_t*>(at), reinterpret_cast<float*>(at + quantized_codes_),
          reinterpret_cast<int32_t*>(at + quantized_codes_ + groups * 4)};
}

void VectorBackend::quantize_rows(const Product& product, const PackedShape& shape) {
  const int32_t out_rows = product.begin[product.matrices.size()];
  int64_t rows = out_rows;
  if (product.source != nullptr) {
    rows = 1 + *std::max_element(product.source, product.source + out_rows);
  }
  constexpr int64_t line = 64;
  const auto groups = static_cast<int64_t>(code_groups_.inputs.size());
  quantized_codes_ = (shape.padded_k() + code_group + line - 1) / line * line;
  quantized_row_bytes_ = (quantized_codes_ + groups * 8 + line - 1) / line * line;
  reserve(quantized_x_, rows * quantized_row_bytes_);
  const int64_t k = shape.k();
  each_row(rows, k, [&](int64_t row) {
    const QuantizedRow to = quantized_row(row);
    QuantizeRow call;
    call.x = product.x + row * k;
    call.inputs = code_groups_.inputs.data();
    call.groups = static_cast<int32_t>(groups);
    call.smallest = smallest_quantized;
    call.codes = to.codes;
    call.scales = to.scales;
    call.sums = to.sums;
    kernels_.quantize_row(call);
  });
}

void VectorBackend::gather_codes(const Product& product, const Tile& tile, int32_t sum_factor) {
  for (int32_t r = 0; r < tile.rows; ++r) {
    const QuantizedRow row = quantized_row(product.row_of(tile.row + r));
    const int8_t* codes = row.codes;
    auto* out = reinterpret_cast<int32_t*>(packed_x_.data() + tile.x_offset) + r;
    for (size_t g = 0; g < group_steps_.size(); ++g) {
      for (int32_t step = 0; step < group_steps_[g]; ++step, codes += code_step, out += tile.rows)
        std::memcpy(out, codes, sizeof *out);
      std::memcpy(out, row.scales + g, sizeof *out);
      out += tile.rows;
      *out = sum_factor * row.sums[g];
      out += tile.rows;
    }
  }
}

}  // namespace dure
