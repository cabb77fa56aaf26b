// What a layer that keeps a state in place of a cache consists of on a rank: the floats of a
// sequence's slot, and the row that the layer's products make of a token. The engine allocates
// these, the planner sums them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cost/shard.h"

namespace dure {

// Of one sequence in one layer. Every part, and so each next slot, begins at a multiple of 64
// bytes: a recurrence's state lies in panels of 32 values.
struct StateFloats {
  int64_t recurrence = 0;   // of the heads' states
  int64_t convolution = 0;  // the inputs that it looks back to, behind the recurrence's
  int64_t window = 0;       // keys of compressed attention's window
  int64_t total() const { return recurrence + convolution + window; }
};

StateFloats state_of(const AttentionSpec& attention, int tp_size, int tp_index);

// Floats of one token's row of the product with the hidden state, in order. What the specs do not
// have is 0.
struct StateRow {
  int64_t q = 0;  // a Mamba-2 layer's C
  int64_t k = 0;  // B
  int64_t v = 0;  // x
  int64_t gate = 0;
  int64_t beta = 0;
  int64_t decay = 0;    // dt
  int64_t decay_a = 0;  // of which a second matrix makes the decays
  int64_t gate_a = 0;   // of which a second matrix makes the gate
  // And what those second matrices make.
  int64_t decay_b = 0;
  int64_t gate_b = 0;

  int64_t convolved() const { return q + k + v; }
  // Of the buffer in which those are made: a row of the first products, then the results.
  int64_t gates() const { return std::max(decay_a, gate_a) + decay_b + gate_b; }
  int64_t total() const { return convolved() + gate + beta + decay + decay_a + gate_a; }
};

StateRow state_row(const DeltaNetSpec& delta, const HeadShare& heads);
StateRow state_row(const Mamba2Spec& mamba, const HeadShare& heads);

}  // namespace dure
