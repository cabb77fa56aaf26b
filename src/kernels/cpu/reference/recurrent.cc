// Recurrent sequence mixing of the reference backend: one token, one head, one value at a time.
#include <cmath>
#include <vector>

#include "kernels/cpu/reference/reference_backend.h"
#include "kernels/cpu/state_panel.h"
#include "kernels/sum_order.h"

namespace dure {
namespace {

float sigmoid(float x) {
  return 1.0f / (1.0f + std::exp(-x));
}

float silu(float x) {
  return x / (1.0f + std::exp(-x));
}

// log(1 + e^x)
float softplus(float x) {
  return (x > 0.0f ? x : 0.0f) + std::log1p(std::exp(-std::abs(x)));
}

float squares(const float* x, int64_t width) {
  float lanes[sum_lanes] = {};
  for (int64_t i = 0; i < width; ++i) {
    float& lane = lanes[i % sum_lanes];
    lane = std::fma(x[i], x[i], lane);
  }
  return add_lanes(lanes);
}

// The state of one head.
class HeadState {
 public:
  HeadState(float* data, int64_t keys, int64_t values)
      : data_(data), keys_(keys), floats_(recurrent_state_floats(1, keys, values)) {}

  void clear() {
    for (int64_t i = 0; i < floats_; ++i) data_[i] = 0.0f;
  }
  float& at(int64_t key, int64_t value) {
    return data_[(value / state_columns * keys_ + key) * state_columns + value % state_columns];
  }

 private:
  float* data_;
  int64_t keys_;
  int64_t floats_;
};

float* slot_of(const StateLayer& state, const StateSlice& slice) {
  return state.data + slice.state * state.slot_floats;
}

// What the state becomes for one column of values: S = decay * S + k add; returns S · q.
float step(HeadState& state, int64_t value, int64_t keys, const float* decay, int64_t decay_step,
           const float* k, float add, const float* q) {
  float out = 0.0f;
  for (int64_t i = 0; i < keys; ++i) {
    float& s = state.at(i, value);
    s = std::fma(k[i], add, decay[i * decay_step] * s);
    out = std::fma(q[i], s, out);
  }
  return out;
}

float delta_decay(const DeltaRule& rule, int64_t head, float a, float bias) {
  const float rate = std::exp(rule.a_log[head]);
  if (rule.lower_bound < 0.0f) return std::exp(rule.lower_bound * sigmoid(rate * (a + bias)));
  return std::exp(-rate * softplus(a + bias));
}

// x / sqrt(sum x² + eps) * scale
void normalise(const float* x, int64_t width, float eps, float scale, std::vector<float>& out) {
  const float factor = 1.0f / std::sqrt(squares(x, width) + eps) * scale;
  for (int64_t i = 0; i < width; ++i) out[static_cast<size_t>(i)] = x[i] * factor;
}

}  // namespace

int64_t conv_state_floats(int64_t channels, int64_t taps) {
  return channels * (taps - 1);
}

int64_t recurrent_state_floats(int64_t heads, int64_t keys, int64_t values) {
  return heads * keys * state_panels(values) * state_columns;
}

void ReferenceBackend::causal_conv(const float* x, int64_t stride,
                                   std::span<const StateSlice> slices, const CausalConv& conv,
                                   const StateLayer& state, float* out) {
  const int64_t kept = conv.taps - 1;
  std::vector<float> window(static_cast<size_t>(kept));
  for (const StateSlice& slice : slices) {
    if (slice.tokens == 0) continue;
    for (int64_t c = 0; c < conv.channels; ++c) {
      float* const past = slot_of(state, slice) + c;
      for (int64_t i = 0; i < kept; ++i)
        window[static_cast<size_t>(i)] = slice.start == 0 ? 0.0f : past[i * conv.channels];
      for (int64_t row = slice.row; row < slice.row + slice.tokens; ++row) {
        window.push_back(x[row * stride + c]);
        float sum = 0.0f;
        for (int64_t tap = 0; tap < conv.taps; ++tap)
          sum = std::fma(conv.w[tap * conv.channels + c], window[static_cast<size_t>(tap)], sum);
        if (conv.bias != nullptr) sum += conv.bias[c];
        out[row * conv.channels + c] = conv.silu ? silu(sum) : sum;
        window.erase(window.begin());
      }
      for (int64_t i = 0; i < kept; ++i) past[i * conv.channels] = window[static_cast<size_t>(i)];
    }
  }
}

void ReferenceBackend::gated_delta_rule(const DeltaRuleInput& input,
                                        std::span<const StateSlice> slices, const DeltaRule& rule,
                                        const StateLayer& state, float* out) {
  const int64_t keys = rule.key_dim;
  const float scale = 1.0f / std::sqrt(static_cast<float>(keys));
  std::vector<float> q(static_cast<size_t>(keys));
  std::vector<float> k(q.size()), decay(q.size()), held(q.size());
  for (const StateSlice& slice : slices) {
    for (int64_t head = 0; head < rule.heads; ++head) {
      HeadState s(slot_of(state, slice) + recurrent_state_floats(head, keys, rule.value_dim), keys,
                  rule.value_dim);
      if (slice.start == 0 && slice.tokens > 0) s.clear();
      const int64_t key_head = rule.key_of_head[static_cast<size_t>(head)];
      for (int64_t row = slice.row; row < slice.row + slice.tokens; ++row) {
        normalise(input.q + row * input.stride + key_head * keys, keys, rule.eps, scale, q);
        normalise(input.k + row * input.stride + key_head * keys, keys, rule.eps, 1.0f, k);
        const float* a = input.a + row * input.a_stride + head * rule.decays;
        const float* bias = rule.dt_bias + head * rule.decays;
        for (int64_t i = 0; i < keys; ++i) {
          const int64_t of = rule.decays == 1 ? 0 : i;
          const size_t at = static_cast<size_t>(i);
          decay[at] = delta_decay(rule, head, a[of], bias[of]);
          held[at] = decay[at] * k[at];
        }
        const float beta = sigmoid(input.b[row * input.b_stride + head]);
        for (int64_t j = 0; j < rule.value_dim; ++j) {
          float known = 0.0f;
          for (int64_t i = 0; i < keys; ++i)
            known = std::fma(held[static_cast<size_t>(i)], s.at(i, j), known);
          const float v = input.v[row * input.stride + head * rule.value_dim + j];
          out[(row * rule.heads + head) * rule.value_dim + j] =
              step(s, j, keys, decay.data(), 1, k.data(), (v - known) * beta, q.data());
        }
      }
    }
  }
}

void ReferenceBackend::ssm_scan(const SsmInput& input, std::span<const StateSlice> slices,
                                const SsmScan& scan, const StateLayer& state, float* out) {
  for (const StateSlice& slice : slices) {
    for (int64_t head = 0; head < scan.heads; ++head) {
      HeadState s(
          slot_of(state, slice) + recurrent_state_floats(head, scan.state_dim, scan.head_dim),
          scan.state_dim, scan.head_dim);
      if (slice.start == 0 && slice.tokens > 0) s.clear();
      const int64_t group = scan.group_of_head[static_cast<size_t>(head)] * scan.state_dim;
      for (int64_t row = slice.row; row < slice.row + slice.tokens; ++row) {
        float dt = softplus(input.dt[row * input.dt_stride + head] + scan.dt_bias[head]);
        if (dt < scan.dt_min) dt = scan.dt_min;
        if (dt > scan.dt_max) dt = scan.dt_max;
        const float decay = std::exp(-std::exp(scan.a_log[head]) * dt);
        const float* b = input.b + row * input.stride + group;
        const float* c = input.c + row * input.stride + group;
        for (int64_t j = 0; j < scan.head_dim; ++j) {
          const float x = input.x[row * input.stride + head * scan.head_dim + j];
          const float sum = step(s, j, scan.state_dim, &decay, 0, b, x * dt, c);
          out[(row * scan.heads + head) * scan.head_dim + j] = std::fma(scan.d[head], x, sum);
        }
      }
    }
  }
}

void ReferenceBackend::gated_norm(const float* x, int64_t rows, int64_t stride, const float* z,
                                  int64_t z_stride, const GatedNorm& norm, float* out) {
  const auto gate = norm.gate == GatedNorm::Gate::silu ? silu : sigmoid;
  const bool gate_first = norm.order == GatedNorm::Order::gate_first;
  std::vector<float> values(static_cast<size_t>(norm.width));
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t group = 0; group < norm.groups; ++group) {
      const float* in = x + row * stride + group * norm.width;
      const float* gates = z + row * z_stride + group * norm.width;
      const float* w = norm.w + (norm.shared_w ? 0 : group * norm.width);
      float* result = out + row * stride + group * norm.width;
      for (int64_t i = 0; i < norm.width; ++i)
        values[static_cast<size_t>(i)] = gate_first ? in[i] * gate(gates[i]) : in[i];
      const float mean = squares(values.data(), norm.width) / static_cast<float>(norm.width);
      const float factor = 1.0f / std::sqrt(mean + norm.eps);
      for (int64_t i = 0; i < norm.width; ++i) {
        const float value = values[static_cast<size_t>(i)] * factor * w[i];
        result[i] = gate_first ? value : value * gate(gates[i]);
      }
    }
  }
}

}  // namespace dure
