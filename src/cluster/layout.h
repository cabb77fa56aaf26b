// How a group's ranks share one model: sizes of tensor, pipeline, data and expert parallelism, and
// who sits where. World size = tp * pp * dp; MoE layers use all tp * dp ranks of their stage, ep of
// them hold different experts and etp = tp * dp / ep share each expert.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/packed_shape.h"  // Range

namespace dure {

struct Layout {
  int tp = 1;
  int pp = 1;
  int dp = 1;
  int ep = 1;

  int world() const { return tp * pp * dp; }
  int stage_ranks() const { return tp * dp; }
  int etp() const { return tp * dp / ep; }
  bool operator==(const Layout&) const = default;
};

std::string to_string(const Layout& layout);  // "tp 2 × pp 2 × dp 1, ep 2"

// Throws bad_input for sizes below 1 and for an ep that does not divide tp * dp.
void check_layout(const Layout& layout);

struct RankPlace {
  int rank = 0;
  int stage = 0;
  int dp = 0;
  int tp = 0;
  int ep = 0;   // which share of the experts
  int etp = 0;  // which share of each of them
};

// rank = stage * (dp * tp) + dp_index * tp + tp_index; within a stage, ep_index * etp + etp_index.
RankPlace place_of(const Layout& layout, int rank);
int rank_of(const Layout& layout, int stage, int dp, int tp);

// Cuts n things over `parts`. By floor (n * i / parts): where tensor-parallel cuts must fall on the
// borders of the summation tree. Front-heavy (4 3 3): whole layers and whole experts.
Range cut_by_floor(int64_t n, int64_t parts, int64_t index);
Range cut_front_heavy(int64_t n, int64_t parts, int64_t index);

}  // namespace dure
