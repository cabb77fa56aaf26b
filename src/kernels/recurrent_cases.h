// Inputs of the recurrent mixing operations for tests and benchmarks: `rows` tokens with random
// values, in rows that are padded with NaN.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/random_data.h"

namespace dure {

// Random gates; or such that exp is exact in every backend: decays 0 or 1, betas 0, 1/2 or 1, and
// no silu, so that all backends give the same bits.
enum class Gates { random, exact };

// [rows, width], `pad` more numbers in each row.
inline std::vector<float> padded_rows(int64_t rows, int64_t width, int64_t pad, uint32_t seed,
                                      float scale = 1.0f) {
  std::vector<float> x = random_floats(rows * (width + pad), seed);
  for (int64_t i = 0; i < rows * (width + pad); ++i) {
    float& value = x[static_cast<size_t>(i)];
    value = i % (width + pad) < width ? value * scale : std::numeric_limits<float>::quiet_NaN();
  }
  return x;
}

// Makes each number one of `choices`, NaN stays.
inline void choose(std::vector<float>& x, const std::vector<float>& choices) {
  for (float& value : x) {
    const float at = (value + 1.0f) * 0.5f * static_cast<float>(choices.size());
    if (!std::isnan(value)) value = choices[static_cast<size_t>(at) % choices.size()];
  }
}

struct ConvCase {
  int64_t channels = 64;
  int64_t taps = 4;
  bool bias = false;
  bool silu = true;
};
struct ConvInputs {
  ConvInputs(const ConvCase& s, int64_t rows, uint32_t seed)
      : setup(s),
        x(padded_rows(rows, s.channels, 3, seed)),
        w(random_floats(s.channels * s.taps, seed + 1)),
        bias(random_floats(s.channels, seed + 2)) {}

  CausalConv conv() const {
    return {setup.channels, setup.taps, w.data(), setup.bias ? bias.data() : nullptr, setup.silu};
  }
  int64_t stride() const { return setup.channels + 3; }
  void run(Backend& backend, std::span<const StateSlice> slices, const StateLayer& state,
           float* out) const {
    backend.causal_conv(x.data(), stride(), slices, conv(), state, out);
  }
  int64_t out_width() const { return setup.channels; }
  int64_t state_floats() const { return conv_state_floats(setup.channels, setup.taps); }

  ConvCase setup;
  std::vector<float> x, w, bias;
};

struct DeltaCase {
  int64_t heads = 4;
  int64_t key_heads = 2;
  int64_t key_dim = 32;
  int64_t value_dim = 32;
  bool per_key = false;
  float lower_bound = 0.0f;
};
struct DeltaInputs {
  DeltaInputs(const DeltaCase& s, int64_t rows, Gates gates, uint32_t seed)
      : setup(s),
        decays(s.per_key ? s.key_dim : 1),
        stride(2 * s.key_heads * s.key_dim + s.heads * s.value_dim + 3),
        qkv(padded_rows(rows, stride - 3, 3, seed)),
        a(padded_rows(rows, s.heads * decays, 1, seed + 1, gates == Gates::random ? 3.0f : 1.0f)),
        b(padded_rows(rows, s.heads, 2, seed + 2, gates == Gates::random ? 3.0f : 1.0f)),
        a_log(random_floats(s.heads, seed + 3)),
        dt_bias(random_floats(s.heads * decays, seed + 4)) {
    for (int64_t head = 0; head < s.heads; ++head)
      key_of_head.push_back(static_cast<int32_t>(head * s.key_heads / s.heads));
    if (gates == Gates::random) return;
    choose(a, {-200.0f, -200.0f, 200.0f});
    choose(b, {-200.0f, 0.0f, 0.0f, 200.0f});
    for (float& value : dt_bias) value = 0.0f;
    for (float& value : a_log) value = 0.0f;
    if (s.lower_bound < 0.0f) setup.lower_bound = -200.0f;
  }

  DeltaRule rule() const {
    return {setup.heads,  setup.key_dim,  setup.value_dim,   key_of_head, decays,
            a_log.data(), dt_bias.data(), setup.lower_bound, 1e-6f};
  }
  DeltaRuleInput input() const {
    const int64_t keys = setup.key_heads * setup.key_dim;
    const float* q = qkv.data();
    return {q,        q + keys,       q + 2 * keys, stride, a.data(), setup.heads * decays + 1,
            b.data(), setup.heads + 2};
  }
  void run(Backend& backend, std::span<const StateSlice> slices, const StateLayer& state,
           float* out) const {
    backend.gated_delta_rule(input(), slices, rule(), state, out);
  }
  int64_t out_width() const { return setup.heads * setup.value_dim; }
  int64_t state_floats() const {
    return recurrent_state_floats(setup.heads, setup.key_dim, setup.value_dim);
  }

  DeltaCase setup;
  int64_t decays;
  int64_t stride;
  std::vector<float> qkv, a, b, a_log, dt_bias;
  std::vector<int32_t> key_of_head;
};

struct SsmCase {
  int64_t heads = 4;
  int64_t groups = 2;
  int64_t head_dim = 32;
  int64_t state_dim = 32;
  float dt_min = 0.0f;
  float dt_max = std::numeric_limits<float>::infinity();
};
struct SsmInputs {
  SsmInputs(const SsmCase& s, int64_t rows, Gates gates, uint32_t seed)
      : setup(s),
        stride(s.heads * s.head_dim + 2 * s.groups * s.state_dim + 3),
        xbc(padded_rows(rows, stride - 3, 3, seed)),
        dt(padded_rows(rows, s.heads, 1, seed + 1, gates == Gates::random ? 3.0f : 1.0f)),
        a_log(random_floats(s.heads, seed + 2)),
        dt_bias(random_floats(s.heads, seed + 3)),
        d(random_floats(s.heads, seed + 4)) {
    for (int64_t head = 0; head < s.heads; ++head)
      group_of_head.push_back(static_cast<int32_t>(head * s.groups / s.heads));
    if (gates == Gates::random) return;
    choose(dt, {-200.0f, 200.0f});
    setup.dt_min = 0.37f;
    setup.dt_max = 1.1f;
    choose(a_log, {-200.0f, -200.0f, 10.0f});  // rates 0 and 22026
    for (float& value : dt_bias) value = 0.0f;
  }

  SsmScan scan() const {
    return {setup.heads,    setup.head_dim, setup.state_dim, group_of_head, a_log.data(),
            dt_bias.data(), d.data(),       setup.dt_min,    setup.dt_max};
  }
  SsmInput input() const {
    const float* x = xbc.data();
    const float* b = x + setup.heads * setup.head_dim;
    return {x, b, b + setup.groups * setup.state_dim, stride, dt.data(), setup.heads + 1};
  }
  void run(Backend& backend, std::span<const StateSlice> slices, const StateLayer& state,
           float* out) const {
    backend.ssm_scan(input(), slices, scan(), state, out);
  }
  int64_t out_width() const { return setup.heads * setup.head_dim; }
  int64_t state_floats() const {
    return recurrent_state_floats(setup.heads, setup.state_dim, setup.head_dim);
  }

  SsmCase setup;
  int64_t stride;
  std::vector<float> xbc, dt, a_log, dt_bias, d;
  std::vector<int32_t> group_of_head;
};

inline std::vector<ConvCase> conv_cases() {
  return {{},
          {.channels = 600, .bias = true},  // more than one chunk
          {.channels = 21, .taps = 3, .silu = false},
          {.channels = 5, .taps = 2, .bias = true},
          {.channels = 33, .taps = 7, .bias = true, .silu = false}};
}
inline std::vector<DeltaCase> delta_cases() {
  return {{},
          {.heads = 2, .key_heads = 1, .key_dim = 128, .value_dim = 128},
          {.heads = 2, .key_heads = 2, .key_dim = 128, .value_dim = 128, .per_key = true},
          {.key_dim = 48, .per_key = true, .lower_bound = -5.0f},
          {.key_dim = 20, .value_dim = 50},
          {.key_dim = 20, .value_dim = 50, .per_key = true},
          {.heads = 3, .key_heads = 1, .key_dim = 1, .value_dim = 1},
          {.heads = 6, .key_heads = 2, .key_dim = 7, .value_dim = 17, .lower_bound = -3.0f}};
}
inline std::vector<SsmCase> ssm_cases() {
  return {{},
          {.groups = 1, .head_dim = 64, .state_dim = 128},
          {.heads = 6, .groups = 3, .head_dim = 50, .state_dim = 20, .dt_min = 0.2f},
          {.heads = 1, .groups = 1, .head_dim = 1, .state_dim = 1, .dt_max = 1.0f},
          {.heads = 2, .head_dim = 40, .state_dim = 7, .dt_min = 0.1f, .dt_max = 0.9f}};
}

// Any of the three, for tests of what they promise together.
struct Mixer {
  std::string name;
  int64_t out_width = 0;
  int64_t state_floats = 0;
  std::function<void(Backend&, std::span<const StateSlice>, const StateLayer&, float*)> run;
};

template <class Inputs>
Mixer mixer_of(const std::string& name, Inputs inputs) {
  const auto kept = std::make_shared<Inputs>(std::move(inputs));
  return {name, kept->out_width(), kept->state_floats(),
          [kept](Backend& backend, std::span<const StateSlice> slices, const StateLayer& state,
                 float* out) { kept->run(backend, slices, state, out); }};
}

inline std::vector<Mixer> all_mixers(int64_t rows, Gates gates) {
  std::vector<Mixer> mixers;
  uint32_t seed = 1;
  for (ConvCase setup : conv_cases()) {
    if (gates == Gates::exact) setup.silu = false;
    mixers.push_back(mixer_of("conv of " + std::to_string(setup.channels) + " channels",
                              ConvInputs(setup, rows, seed += 10)));
  }
  for (const DeltaCase& setup : delta_cases())
    mixers.push_back(mixer_of("delta rule " + std::to_string(setup.key_dim) + " x " +
                                  std::to_string(setup.value_dim) + (setup.per_key ? " keys" : ""),
                              DeltaInputs(setup, rows, gates, seed += 10)));
  for (const SsmCase& setup : ssm_cases())
    mixers.push_back(
        mixer_of("ssm " + std::to_string(setup.state_dim) + " x " + std::to_string(setup.head_dim),
                 SsmInputs(setup, rows, gates, seed += 10)));
  return mixers;
}

}  // namespace dure
