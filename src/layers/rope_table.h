// cos and sin of the rotary embedding for the positions of a batch, with the context extensions
// that checkpoints name: linear, Llama 3 bands, YaRN (Peng et al. 2023, arXiv:2309.00071).
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "kernels/backend.h"
#include "model/spec.h"

namespace dure {

// [dims / 2], radians per position, of sequences of `length` tokens. fp32 as the reference
// implementations keep them.
std::vector<float> rope_frequencies(const RopeSpec& rope, int64_t length = 0);

// Row i of the table belongs to positions[i] of a sequence of lengths[i] tokens.
RopeTable make_rope_table(const RopeSpec& rope, std::span<const int32_t> positions,
                          std::span<const int32_t> lengths);

// The tables of one batch, each made when a layer first asks for it.
class RopeTables {
 public:
  RopeTables(std::span<const int32_t> positions, std::span<const int32_t> lengths)
      : positions_(positions), lengths_(lengths) {}
  // As Backend::rope, by the rope's table; nothing where positions are not told.
  void rotate(Backend& backend, const RopeSpec& rope, float* x, int64_t rows, int64_t heads,
              int64_t head_dim, int64_t stride, const int32_t* row_index);

 private:
  const RopeTable& of(const RopeSpec& rope);  // valid as long as this

  struct Made {
    RopeSpec spec;
    RopeTable table;
  };
  std::span<const int32_t> positions_;
  std::span<const int32_t> lengths_;
  std::deque<Made> made_;
};

}  // namespace dure
