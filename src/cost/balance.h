// The balance batch: how many tokens a decode step needs until multiplying takes as long as reading
// the weights. Below it a step costs the same however few tokens it has, above it each token costs
// more time.
//
// Of a matrix that all tokens read (roofline, Williams, Waterman and Patterson 2009):
//   bytes / memory speed = tokens × operations / matrix units' speed
//   tokens = (operations per second ÷ bytes per second of the GPU) ÷ (operations per byte of
//   weights)
// Of the experts of a layer, each of tokens × top_k choices is one row of one expert, and only
// experts that some token chose are read. Of E experts, T tokens choose on average
//   E × (1 − (1 − top_k / E)^T)
// (the occupancy problem, for choices that are independent), which is E where steps are large. So a
// mixture's balance batch is E / top_k times that of a dense model in the same numbers: its batch
// is spread over the experts.
//
// On the speeds of the data sheet. Kernels reach a share of each (TimeConstants), which moves the
// balance by the ratio of the shares. Attention over cached keys has no balance: both its sides
// grow with the batch.
#pragma once

#include <vector>

#include "cluster/gpu.h"
#include "cost/step_time.h"
#include "cost/step_work.h"

namespace dure {

// Tokens are those of one dp rank in a step; experts see those of all dp ranks of their stage.
struct PartBalance {
  Operation part = Operation::projections;  // or feed_forward, experts, head
  double balance = 0.0;                     // tokens at which both take as long
  double read_seconds = 0.0;                // at the tokens asked about, all layers of the rank
  double math_seconds = 0.0;
  Bound bound() const { return read_seconds >= math_seconds ? Bound::memory : Bound::compute; }
};

struct Balance {
  double dense = 0.0;              // tokens, of all that every token reads
  double experts = 0.0;            // tokens, of routed experts; 0 where there are none
  double whole = 0.0;              // tokens, of all weights together
  std::vector<PartBalance> parts;  // those that the rank has
  Bound bound = Bound::memory;     // of all weights together, at the tokens asked about
};

// `tokens` ≥ 0, of one dp rank's step.
Balance balance_of(const StepWork& work, const GpuSpeed& gpu, double tokens);

// Of `experts`, how many that `tokens` tokens choose between them on average, top_k each.
double distinct_experts(double experts, double top_k, double tokens);

}  // namespace dure
