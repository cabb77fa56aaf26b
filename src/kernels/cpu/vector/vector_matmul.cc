// How products are split: rows into register tiles, matrices into runs of panels; threads take runs
// as they become free. Nothing here changes a bit of the result: each (row, output) is computed by
// the same kernel in the same order, whichever tile, run and thread it falls to.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "kernels/cpu/vector/vector_backend.h"

namespace dure {
namespace {

// Packed rows that a run of panels works on: half of a common 1 MiB L2, the rest is for panels.
constexpr int64_t row_block_bytes = 512 << 10;
// More runs per thread balance better, fewer have less overhead.
constexpr int64_t runs_per_thread = 8;
// How far ahead of a single tile's products weights are fetched, bytes.
constexpr int64_t fetch_ahead = 4096;

constexpr int64_t line = 64;

int64_t tree_floats(size_t segments) {
  return static_cast<int64_t>(std::bit_width(segments) + 1) * most_tile_rows * panel_width;
}

// An address that is only fetched ahead, never read: it may lie beyond the matrix, or belong to one
// without bytes, where pointer arithmetic would not be allowed.
const char* address_after(const char* at, int64_t bytes) {
  return reinterpret_cast<const char*>(reinterpret_cast<uintptr_t>(at) +
                                       static_cast<uintptr_t>(bytes));
}

}  // namespace

// Which kernels a product takes, and the sizes that follow.
struct VectorBackend::Path {
  void (*kernel)(const MatmulTile&) = nullptr;
  void (*pack)(const PackTile&) = nullptr;  // null: rows were quantized, and are gathered
  bool glu = false;
  int32_t tile_rows = 1;
  int64_t unit = 1;
  int64_t x_row_bytes = 0;  // of one packed row
  int64_t step_bytes = 0;   // of one panel
  int64_t panel_bytes = 0;
  int64_t scale_bytes = 0;  // of a group of codes
  int32_t code_start = 0;   // times the sum of a group's x: where its integer sums begin
};

// Which kernels multiply x with a matrix of this shape.
VectorBackend::Path VectorBackend::path_of(const PackedShape& shape, Compute compute) const {
  const bool pairs = compute == Compute::bf16 && shape.dtype == DType::bf16 && !shape.coded() &&
                     kernels_.matmul_bf16 != nullptr;
  Path path;
  path.glu = shape.order == PanelOrder::gate_up;
  path.tile_rows = kernels_.tile_rows;
  path.unit = shape.unit();
  path.panel_bytes = shape.panel_bytes();
  path.x_row_bytes = shape.padded_k() * (pairs ? 2 : 4);
  if (shape.coded()) {
    const auto format = static_cast<size_t>(shape.codes);
    path.step_bytes = code_step_bytes(shape.codes);
    path.scale_bytes = code_scale_bytes;
    if (compute == Compute::bf16) {
      path.kernel = kernels_.matmul_codes[format];
      path.tile_rows = kernels_.code_tile_rows;
      path.code_start = kernels_.code_bias - code_zero(shape.codes);
      path.x_row_bytes = shape.padded_k() + 8 * static_cast<int64_t>(code_groups_.inputs.size());
    } else {
      path.kernel = kernels_.matmul_codes_fp32[format];
      path.pack = kernels_.pack_fp32;
    }
    return path;
  }
  path.step_bytes = panel_width * shape.unit() * bytes_of(shape.dtype);
  path.kernel =
      pairs ? kernels_.matmul_bf16 : kernels_.matmul_fp32[static_cast<size_t>(shape.dtype)];
  path.pack = pairs                      ? kernels_.pack_bf16
              : compute == Compute::bf16 ? kernels_.pack_rounded
                                         : kernels_.pack_fp32;
  return path;
}

// The pieces of k that kernels and packing count in: segments, in steps; of codes, groups.
void VectorBackend::plan_pieces(const PackedShape& shape) {
  steps_.clear();
  group_steps_.clear();
  pack_inputs_ = shape.segments;
  if (!shape.coded()) {
    for (const int64_t length : shape.segments)
      steps_.push_back((length + shape.unit() - 1) / shape.unit());
    return;
  }
  code_groups_ = shape.groups();
  steps_.assign(code_groups_.of_segments.begin(), code_groups_.of_segments.end());
  pack_inputs_.assign(code_groups_.inputs.begin(), code_groups_.inputs.end());
  for (const int32_t inputs : code_groups_.inputs)
    group_steps_.push_back((inputs + static_cast<int32_t>(code_step) - 1) /
                           static_cast<int32_t>(code_step));
}

void VectorBackend::plan_tiles(const Product& product, const Path& path) {
  tiles_.clear();
  int64_t offset = 0;
  for (size_t m = 0; m < product.matrices.size(); ++m) {
    const int32_t rows = product.begin[m + 1] - product.begin[m];
    const int32_t count = (rows + path.tile_rows - 1) / path.tile_rows;
    int32_t row = product.begin[m];
    for (int32_t i = 0; i < count; ++i) {
      // Tiles of nearly equal size: 13 rows are 7 + 6.
      const int32_t share = rows / count + (i < rows % count ? 1 : 0);
      tiles_.push_back({static_cast<int32_t>(m), row, share, offset});
      row += share;
      offset += (share * path.x_row_bytes + line - 1) / line * line;
    }
  }
  reserve(packed_x_, offset);
}

void VectorBackend::plan_items(const PackedShape& shape, const Path& path) {
  items_.clear();
  const int64_t together = path.glu ? 2 : 1;  // panels that one epilogue needs
  const int64_t panels = shape.panels();
  int64_t cost = 0;
  for (const Tile& tile : tiles_) cost += panels * tile.rows;
  const int64_t runs = pool_.threads() == 1 ? 1 : pool_.threads() * runs_per_thread;
  const int64_t block_rows =
      std::max<int64_t>(row_block_bytes / std::max<int64_t>(path.x_row_bytes, 1), 1);
  for (size_t first = 0; first < tiles_.size();) {
    size_t end = first;
    int64_t rows = 0;
    while (end < tiles_.size() && tiles_[end].matrix == tiles_[first].matrix &&
           (rows == 0 || rows + tiles_[end].rows <= block_rows))
      rows += tiles_[end++].rows;
    // As many panels as make an even share of the work.
    const int64_t share = cost / (runs * std::max<int64_t>(rows, 1)) / together * together;
    const int64_t run = std::clamp(share, together, std::max(panels, together));
    for (int64_t panel = 0; panel < panels; panel += run) {
      items_.push_back({tiles_[first].matrix, static_cast<int32_t>(panel),
                        static_cast<int32_t>(std::min(panel + run, panels)),
                        static_cast<int32_t>(first), static_cast<int32_t>(end)});
    }
    first = end;
  }
}

void VectorBackend::pack_tile(const Product& product, const Path& path, const Tile& tile) {
  if (path.pack == nullptr) return gather_codes(product, tile, path.code_start);
  const int64_t k = product.matrices[static_cast<size_t>(tile.matrix)].shape().k();
  const float* rows[most_tile_rows];
  for (int32_t r = 0; r < tile.rows; ++r) rows[r] = product.x + product.row_of(tile.row + r) * k;
  PackTile pack;
  pack.x = rows;
  pack.inputs = pack_inputs_.data();
  pack.segment_count = static_cast<int32_t>(pack_inputs_.size());
  pack.rows = tile.rows;
  pack.unit = static_cast<int32_t>(path.unit);
  pack.out = packed_x_.data() + tile.x_offset;
  path.pack(pack);
}

// Of a matrix in blocks.
const std::byte* VectorBackend::made_panels(const PackedMatrix& matrix, int64_t first,
                                            int64_t count, int64_t panel_bytes, int thread) {
  std::byte* const scratch = thread_panels_[static_cast<size_t>(thread)].data();
  std::byte* const panels = scratch + block_scratch_bytes();
  for (int64_t i = 0; i < count; ++i) {
    make_panel(matrix, first + i, scratch, panels + i * panel_bytes);
  }
  return panels;
}

void VectorBackend::run_item(const Product& product, const Path& path, const Item& item,
                             int thread) {
  const PackedMatrix& matrix = product.matrices[static_cast<size_t>(item.matrix)];
  const PackedShape& shape = matrix.shape();
  float* const scratch =
      reinterpret_cast<float*>(thread_scratch_[static_cast<size_t>(thread)].data());
  float* const results[2] = {scratch, scratch + most_tile_rows * panel_width};
  MatmulTile call;
  call.segments = steps_.data();
  call.group_steps = group_steps_.data();
  call.segment_count = static_cast<int32_t>(steps_.size());
  call.tree = scratch + 2 * most_tile_rows * panel_width;
  const int64_t together = path.glu ? 2 : 1;
  const int64_t outputs = shape.n / together;
  const int32_t tiles = item.tile_end - item.tile;

  for (int64_t panel = item.panel; panel < item.panel_end; panel += together) {
    const char* const weights = reinterpret_cast<const char*>(
        shape.in_blocks() ? made_panels(matrix, panel, together, path.panel_bytes, thread)
                          : matrix.data() + panel * path.panel_bytes);
    const int64_t first = panel / together * panel_width;
    const int32_t columns = static_cast<int32_t>(std::min(outputs - first, panel_width));
    for (int32_t t = 0; t < tiles; ++t) {
      const Tile& tile = tiles_[static_cast<size_t>(item.tile) + static_cast<size_t>(t)];
      call.x = packed_x_.data() + tile.x_offset;
      call.rows = tile.rows;
      for (int64_t half = 0; half < together; ++half) {
        const char* const at = weights + half * path.panel_bytes;
        call.weights = at;
        call.out = results[half];
        // One tile fetches ahead of itself; several share the next panel between them.
        call.prefetch = address_after(
            at,
            tiles == 1 ? fetch_ahead : together * path.panel_bytes + path.panel_bytes * t / tiles);
        call.prefetch_step = path.step_bytes / tiles;
        call.prefetch_scales = path.scale_bytes / tiles;
        path.kernel(call);
      }
      float* const out = product.out + tile.row * outputs + first;
      const auto at = [&](const float* bias) {
        return bias == nullptr ? nullptr : bias + item.matrix * outputs + first;
      };
      if (path.glu) {
        const Glu& glu = product.glu;
        kernels_.finish_glu[static_cast<size_t>(glu.kind)](
            {results[0], results[1], tile.rows, columns, at(product.bias), at(product.up_bias),
             glu.alpha, glu.limit, out, outputs});
      } else {
        kernels_.finish_plain(results[0], tile.rows, columns, at(product.bias), out, outputs);
      }
    }
  }
}

void VectorBackend::multiply(const Product& product) {
  // Matrices of one call have one shape; empty ones (no rows) may be anything.
  const PackedMatrix* some = nullptr;
  for (size_t m = 0; m < product.matrices.size(); ++m) {
    if (product.begin[m] == product.begin[m + 1]) continue;
    const PackedMatrix& matrix = product.matrices[m];
    if (some == nullptr) some = &matrix;
    DURE_CHECK(matrix.shape().alike(some->shape()));
  }
  if (some == nullptr) return;
  const PackedShape& shape = some->shape();
  plan_pieces(shape);
  const Path path = path_of(shape, product.compute);
  for (AlignedBuffer& scratch : thread_scratch_)
    reserve(scratch, (2 * most_tile_rows * panel_width + tree_floats(steps_.size())) *
                         static_cast<int64_t>(sizeof(float)));
  if (shape.in_blocks()) {
    for (AlignedBuffer& panels : thread_panels_)
      reserve(panels, block_scratch_bytes() + (path.glu ? 2 : 1) * path.panel_bytes);
  }
  plan_tiles(product, path);
  plan_items(shape, path);
  if (path.pack == nullptr) quantize_rows(product, shape);
  pool_.run(static_cast<int64_t>(tiles_.size()),
            [&](int64_t i, int) { pack_tile(product, path, tiles_[static_cast<size_t>(i)]); });
  pool_.run(static_cast<int64_t>(items_.size()), [&](int64_t i, int thread) {
    run_item(product, path, items_[static_cast<size_t>(i)], thread);
  });
}

void VectorBackend::matmul(const float* x, int64_t rows, const PackedMatrix& w, const float* bias,
                           Compute compute, float* out) {
  const int32_t begin[2] = {0, static_cast<int32_t>(rows)};
  multiply({x, nullptr, begin, {&w, 1}, compute, bias, nullptr, {}, out});
}

void VectorBackend::matmul_glu(const float* x, int64_t rows, const PackedMatrix& w,
                               const float* gate_bias, const float* up_bias, const Glu& glu,
                               Compute compute, float* out) {
  const int32_t begin[2] = {0, static_cast<int32_t>(rows)};
  multiply({x, nullptr, begin, {&w, 1}, compute, gate_bias, up_bias, glu, out});
}

void VectorBackend::grouped_matmul(const float* x, const ExpertRows& rows,
                                   std::span<const PackedMatrix> experts, Compute compute,
                                   float* out) {
  multiply({x, rows.source.data(), rows.begin.data(), experts, compute, nullptr, nullptr, {}, out});
}

void VectorBackend::grouped_matmul_glu(const float* x, const ExpertRows& rows,
                                       std::span<const PackedMatrix> experts,
                                       const float* gate_bias, const float* up_bias, const Glu& glu,
                                       Compute compute, float* out) {
  multiply(
      {x, rows.source.data(), rows.begin.data(), experts, compute, gate_bias, up_bias, glu, out});
}

}  // namespace dure
