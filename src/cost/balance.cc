// See balance.h.
#include "cost/balance.h"

#include <algorithm>
#include <cmath>

namespace dure {
namespace {

// Matrices of one shape: `count` of them, read when a token needs them.
struct Stack {
  MatrixWork matrix;
  double count = 0.0;    // on the rank, of all layers
  double experts = 0.0;  // of a layer; 0: every token reads all
  double top_k = 0.0;
  double groups = 1.0;  // dp ranks whose tokens come here

  double bytes(double tokens) const {
    if (experts == 0.0) return count * matrix.bytes;
    return count * matrix.bytes * distinct_experts(experts, top_k, tokens * groups) / experts;
  }
  double operations_per_token() const {
    return count * matrix.operations * (experts == 0.0 ? 1.0 : groups * top_k / experts);
  }
};

struct StepPart {
  Operation operation = Operation::projections;
  std::vector<Stack> stacks;
};

std::vector<StepPart> parts_of(const StepWork& work) {
  StepPart projections{Operation::projections, {}};
  StepPart feed_forward{Operation::feed_forward, {}};
  StepPart experts{Operation::experts, {}};
  for (const LayerWork& kind : work.kinds) {
    const double layers = kind.layers;
    projections.stacks.push_back({kind.attention, layers});
    feed_forward.stacks.push_back({kind.dense, layers});
    if (kind.experts == 0.0) continue;
    experts.stacks.push_back({kind.expert, layers * kind.experts_held, kind.experts, kind.top_k,
                              static_cast<double>(work.layout.dp)});
  }
  return {projections, feed_forward, experts, {Operation::head, {{work.head, 1.0}}}};
}

struct Sides {
  const GpuSpeed& gpu;
  std::vector<Stack> stacks;

  double reading(double tokens) const {  // seconds
    double bytes = 0.0;
    for (const Stack& stack : stacks) bytes += stack.bytes(tokens);
    return bytes / gpu.memory;
  }
  double computing(double tokens) const {  // seconds
    double seconds = 0.0;
    for (const Stack& stack : stacks) {
      seconds +=
          tokens * stack.operations_per_token() / operations_per_second(gpu, stack.matrix.unit);
    }
    return seconds;
  }
  bool empty() const { return computing(1.0) == 0.0; }

  // Computing grows with the tokens, reading ever less than that: they meet once. Where even one
  // token takes longer to multiply than to read for, they meet below it.
  double balance() const {
    constexpr double one = 1.0;
    if (empty()) return 0.0;
    if (computing(one) >= reading(one)) return reading(one) / computing(one);
    constexpr double all = 1e15;  // tokens that choose every expert
    double low = one;
    double high = std::max(one, reading(all) / computing(one));
    constexpr int halvings = 100;
    for (int i = 0; i < halvings; ++i) {
      const double middle = (low + high) / 2;
      (computing(middle) < reading(middle) ? low : high) = middle;
    }
    return high;
  }
};

}  // namespace

double distinct_experts(double experts, double top_k, double tokens) {
  return experts * (1.0 - std::pow(1.0 - top_k / experts, tokens));
}

Balance balance_of(const StepWork& work, const GpuSpeed& gpu, double tokens) {
  Balance balance;
  Sides dense{gpu, {}};
  Sides whole{gpu, {}};
  for (const StepPart& part : parts_of(work)) {
    const Sides sides{gpu, part.stacks};
    if (sides.empty()) continue;
    balance.parts.push_back(
        {part.operation, sides.balance(), sides.reading(tokens), sides.computing(tokens)});
    whole.stacks.insert(whole.stacks.end(), part.stacks.begin(), part.stacks.end());
    if (part.operation == Operation::experts) {
      balance.experts = sides.balance();
    } else {
      dense.stacks.insert(dense.stacks.end(), part.stacks.begin(), part.stacks.end());
    }
  }
  balance.dense = dense.balance();
  balance.whole = whole.balance();
  balance.bound = whole.reading(tokens) >= whole.computing(tokens) ? Bound::memory : Bound::compute;
  return balance;
}

}  // namespace dure
