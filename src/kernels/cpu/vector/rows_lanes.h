// Norms, rotation, softmax weights and other row operations over Lanes. Include after one
// lanes_*.h.
#pragma once

#include "kernels/cpu/vector/kernel_table.h"
#include "kernels/cpu/vector/math_lanes.h"
#include "kernels/cpu/vector/tree_lanes.h"

namespace dure {
namespace {

// Calls fn(i, n) for every stretch of up to 16 elements.
template <class Function>
inline void each_lanes(int64_t count, const Function& fn) {
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) fn(i, 16);
  if (i < count) fn(i, count - i);
}

inline float sum_squares(const float* x, int64_t width) {
  Lanes sum = zero();
  each_lanes(width, [&](int64_t i, int64_t n) {
    const Lanes part = load_first(x + i, n);
    sum = fma(part, part, sum);
  });
  return sum_of(sum);
}

inline void scale_row(const float* x, int64_t width, float factor, const float* w, float* out) {
  each_lanes(width, [&](int64_t i, int64_t n) {
    const Lanes weight = w != nullptr ? load_first(w + i, n) : all(1.0f);
    store_first(out + i, n, load_first(x + i, n) * all(factor) * weight);
  });
}

inline void layer_norm(const float* x, int64_t width, const float* w, const float* b, float eps,
                       float* out) {
  const Lanes count = all(static_cast<float>(width));
  Lanes sum = zero();
  each_lanes(width, [&](int64_t i, int64_t n) { sum = sum + load_first(x + i, n); });
  const Lanes mean = all(sum_of(sum)) / count;
  sum = zero();
  each_lanes(width, [&](int64_t i, int64_t n) {
    const Lanes deviation = keep_between(load_first(x + i, n) - mean, 0, n, zero());
    sum = fma(deviation, deviation, sum);
  });
  const Lanes factor = all(1.0f) / sqrt(all(sum_of(sum)) / count + all(eps));
  each_lanes(width, [&](int64_t i, int64_t n) {
    const Lanes weight = w != nullptr ? load_first(w + i, n) : all(1.0f);
    const Lanes bias = b != nullptr ? load_first(b + i, n) : zero();
    store_first(out + i, n, fma((load_first(x + i, n) - mean) * factor, weight, bias));
  });
}

inline void rope_head(float* x, int64_t half, const float* cos, const float* sin) {
  each_lanes(half, [&](int64_t i, int64_t n) {
    const Lanes first = load_first(x + i, n);
    const Lanes second = load_first(x + half + i, n);
    const Lanes c = load_first(cos + i, n);
    const Lanes s = load_first(sin + i, n);
    store_first(x + i, n, fms(first, c, second * s));
    store_first(x + half + i, n, fma(second, c, first * s));
  });
}

inline void rope_head_interleaved(float* x, int64_t half, const float* cos, const float* sin) {
  each_lanes(2 * half, [&](int64_t i, int64_t n) {
    const Lanes both = load_first(x + i, n);
    const Lanes c = twice_each(load_first(cos + i / 2, n / 2));
    const Lanes s = twice_each(load_first(sin + i / 2, n / 2));
    store_first(x + i, n, fma_alternating(both, c, swap_pairs(both) * s));
  });
}

template <class Type>
void widen(const void* from, int64_t count, float* out) {
  const auto* in = static_cast<const typename Type::Stored*>(from);
  each_lanes(count, [&](int64_t i, int64_t n) {
    store_first(out + i, n, n == 16 ? Type::load(in + i) : Type::load_first(in + i, n));
  });
}

inline void softcap(float* x, int64_t count, float cap) {
  each_lanes(count, [&](int64_t i, int64_t n) {
    store_first(x + i, n, tanh(load_first(x + i, n) / all(cap)) * all(cap));
  });
}

inline void scale_by_sigmoid(float* x, float gate, int64_t width) {
  const Lanes factor = sigmoid(all(gate));
  each_lanes(width,
             [&](int64_t i, int64_t n) { store_first(x + i, n, load_first(x + i, n) * factor); });
}

inline void softmax_row(const float* x, int64_t count, float* out) {
  const Lanes lowest = all(-__builtin_inff());
  Lanes top = lowest;
  each_lanes(count, [&](int64_t i, int64_t n) {  // NaN is passed over
    top = max(keep_between(load_first(x + i, n), 0, n, lowest), top);
  });
  const Lanes largest = all(largest_of(top));
  Lanes sum = zero();
  each_lanes(count, [&](int64_t i, int64_t n) {
    const Lanes part = exp(load_first(x + i, n) - largest);
    store_first(out + i, n, part);
    sum = sum + keep_between(part, 0, n, zero());
  });
  const Lanes total = all(sum_of(sum));
  each_lanes(count, [&](int64_t i, int64_t n) {
    store_first(out + i, n, load_first(out + i, n) / total);
  });
}

inline void sigmoid_row(const float* x, int64_t count, float* out) {
  each_lanes(count,
             [&](int64_t i, int64_t n) { store_first(out + i, n, sigmoid(load_first(x + i, n))); });
}

inline void sqrt_softplus_row(const float* x, int64_t count, float* out) {
  each_lanes(count, [&](int64_t i, int64_t n) {
    store_first(out + i, n, sqrt(softplus(load_first(x + i, n))));
  });
}

inline void combine(const CombineRow& row) {
  float tree[32 * 16];
  each_lanes(row.width, [&](int64_t i, int64_t n) {
    Lanes sum = zero();
    for (int64_t s = 0; s < row.slots; ++s) {
      if (row.where[s * row.parts] < 0) continue;
      Lanes output[1] = {zero()};
      for (int64_t p = 0; p < row.parts; ++p) {
        output[0] = load_first(row.partial + row.where[s * row.parts + p] * row.width + i, n);
        add_segment(output, tree, static_cast<int32_t>(p), static_cast<int32_t>(row.parts));
      }
      if (row.bias != nullptr)
        output[0] = output[0] + load_first(row.bias + row.ids[s] * row.width + i, n);
      sum = fma(all(row.weights[s]), output[0], sum);
    }
    store_first(row.out + i, n, sum);
  });
}

inline void exp_row(const float* x, int64_t count, float* out) {
  each_lanes(count,
             [&](int64_t i, int64_t n) { store_first(out + i, n, exp(load_first(x + i, n))); });
}
inline void tanh_row(const float* x, int64_t count, float* out) {
  each_lanes(count,
             [&](int64_t i, int64_t n) { store_first(out + i, n, tanh(load_first(x + i, n))); });
}

}  // namespace
}  // namespace dure
