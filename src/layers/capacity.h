// Who gets a place where experts take a bounded number of token slots (cluster/expert_capacity.h).
// Places are given by token row, then by slot: a slot that came before is never moved by one that
// comes after, whether the expert was the token's first choice or not.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace dure {

inline constexpr int32_t dropped_slot = -1;  // in place of an expert's number

struct RankedExpert {
  int32_t expert;
  float weight;  // the slot's, if the expert takes it
};

// The experts that a row may turn to beside those it has chosen, best first. The result is read
// before the next call.
using NextBest = std::function<std::span<const RankedExpert>(int64_t row)>;

struct SlotCounts {
  int64_t dropped = 0;
  int64_t moved = 0;  // to another expert than the one chosen
  SlotCounts& operator+=(const SlotCounts& more) {
    dropped += more.dropped;
    moved += more.moved;
    return *this;
  }
  bool operator==(const SlotCounts&) const = default;
};

// ceil(factor * rows * top_k / experts), at most `rows`, since a token takes no expert twice.
// A fraction is seldom a double: an excess of less than one part in 10⁹ is no reason to round up.
int64_t places_of_expert(double factor, int64_t rows, int64_t top_k, int64_t experts);

// ids, weights: [rows, top_k], as the router made them; no row names an expert twice. Slots beyond
// `places` go where `next_best` says, or, where it is empty or names no expert with room that the
// row has not, become dropped_slot with weight 0. Weights of other slots stay as they are.
SlotCounts settle_slots(int64_t rows, int64_t top_k, int64_t experts, int64_t places, int32_t* ids,
                        float* weights, const NextBest& next_best);

}  // namespace dure
