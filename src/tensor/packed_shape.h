// The geometry of a packed weight matrix: what the kernels read as one stream, and what the planner
// counts. A matrix [n outputs, k inputs] is cut into panels of 32 outputs; k is cut into the
// segments of the fixed summation tree, each padded on its own:
//   [n / 32 panels][segments][k of the segment / unit][32 outputs][unit]   unit = 2 for bf16, else
//   1
// Missing outputs and inputs are zeros. Matrices of integer codes: tensor/code_format.h.
// A matrix may also be kept in a checkpoint's own blocks (tensor/block_rows.h). Products make
// panels of it as they go.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/block_rows.h"
#include "tensor/code_format.h"
#include "tensor/dtype.h"

namespace dure {

inline constexpr int64_t panel_width = 32;
inline constexpr int tree_segments = 8;

// Lengths of the pieces in which a product is summed. A column-parallel or replicated product is
// one piece. A row-parallel product over units * unit inputs (heads of head_dim, say) is cut at
// whole units, floor(units * i / 8) for i = 0..8, and its sums are added as a binary tree over
// these eight pieces, some of which may be empty. Part `index` of `parts` holds [floor(units *
// index / parts), floor(units * (index + 1) / parts)): with 1, 2, 4 or 8 parts that is a whole
// subtree whatever the units are; with another number of parts pieces are cut in two.
std::vector<int64_t> whole_segment(int64_t k);
std::vector<int64_t> tree_segments_of(int64_t units, int64_t unit, int parts, int index);
bool keeps_subtrees(int parts);  // 1, 2, 4 or 8

enum class PanelOrder {
  plain,
  gate_up,  // 32 outputs of gate, the same 32 of up, and so on: what a fused SwiGLU reads. n counts
            // both halves, each padded to whole panels on its own.
};

struct PackedShape {
  int64_t n = 0;                  // outputs
  std::vector<int64_t> segments;  // inputs of each segment; sum = k
  DType dtype = DType::bf16;      // means nothing where there are codes
  PanelOrder order = PanelOrder::plain;
  CodeFormat codes = CodeFormat::none;
  int64_t first_input = 0;  // of the weight, from which groups of codes and blocks are counted
  // Not empty: kept in blocks; panels are then made in `dtype`. The counts sum to n.
  std::vector<BlockRows> block_rows = {};

  int64_t k() const;
  int64_t unit() const { return coded() ? code_step : dtype == DType::bf16 ? 2 : 1; }
  int64_t panels() const;
  int64_t padded_k() const;  // sum of the segments, or groups of codes, each rounded up to `unit`
  int64_t panel_bytes() const;  // of those kept in blocks: of one that is made
  int64_t bytes() const;        // as resident, padding included
  bool coded() const { return codes != CodeFormat::none; }
  bool in_blocks() const { return !block_rows.empty(); }
  Range held_inputs() const { return {first_input, first_input + k()}; }  // of the weight
  // Where an output is among those in blocks. Outputs count gate first, then up.
  struct BlockPlace {
    const BlockRows* rows = nullptr;
    int64_t offset = 0;  // of these rows, in bytes
    int64_t output = 0;  // of these rows
  };
  BlockPlace block_place(int64_t output) const;
  // The output that is column `column` of a panel; -1: none.
  int64_t output_at(int64_t panel, int64_t column) const;
  CodeGroups groups() const { return code_groups(segments, first_input); }

  // Whether one kernel call may read both, row counts apart.
  bool alike(const PackedShape& other) const;
};

}  // namespace dure
