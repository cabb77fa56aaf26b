// How recurrent sequence mixing is split: each item is the tokens of one slice times some columns:
// channels of a convolution, or panels of one head's state. Tokens are never split.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/cpu/state_panel.h"
#include "kernels/cpu/vector/vector_backend.h"

namespace dure {

void VectorBackend::plan_state(std::span<const StateSlice> slices, int64_t heads, int64_t panels) {
  // Long slices start first, so that no thread ends late.
  slices_by_tokens_.resize(slices.size());
  std::iota(slices_by_tokens_.begin(), slices_by_tokens_.end(), 0);
  const auto tokens_of = [&](int32_t slice) { return slices[static_cast<size_t>(slice)].tokens; };
  std::stable_sort(slices_by_tokens_.begin(), slices_by_tokens_.end(),
                   [&](int32_t a, int32_t b) { return tokens_of(a) > tokens_of(b); });
  int64_t work = 0;
  for (const StateSlice& slice : slices) work += slice.tokens * heads;
  state_items_.clear();
  for (const int32_t slice : slices_by_tokens_) {
    const int64_t tokens = tokens_of(slice);
    if (tokens * heads == 0) break;
    // Each item repeats what its columns share (norms, decays): no more items than balance needs.
    const int64_t parts = std::min((tokens * pool_.threads() * 4 + work - 1) / work, panels);
    for (int64_t head = 0; head < heads; ++head)
      for (int64_t part = 0; part < parts; ++part)
        state_items_.push_back({slice, static_cast<int32_t>(head),
                                static_cast<int32_t>(panels * part / parts),
                                static_cast<int32_t>(panels * (part + 1) / parts)});
  }
}

void VectorBackend::causal_conv(const float* x, int64_t stride, std::span<const StateSlice> slices,
                                const CausalConv& conv, const StateLayer& state, float* out) {
  constexpr int64_t chunk = 256;  // channels; their last inputs stay in the first-level cache
  plan_state(slices, (conv.channels + chunk - 1) / chunk, 1);
  for (AlignedBuffer& scratch : thread_scratch_)
    reserve(scratch, (conv.taps - 1) * chunk * static_cast<int64_t>(sizeof(float)));
  pool_.run(static_cast<int64_t>(state_items_.size()), [&](int64_t index, int thread) {
    const StateItem& item = state_items_[static_cast<size_t>(index)];
    const StateSlice& slice = slices[static_cast<size_t>(item.slice)];
    const int64_t channel = item.head * chunk;
    ConvTile tile;
    tile.x = x + slice.row * stride + channel;
    tile.stride = stride;
    tile.tokens = slice.tokens;
    tile.fresh = slice.start == 0;
    tile.state = state.data + slice.state * state.slot_floats + channel;
    tile.w = conv.w + channel;
    tile.bias = conv.bias != nullptr ? conv.bias + channel : nullptr;
    tile.channels = conv.channels;
    tile.width = std::min(chunk, conv.channels - channel);
    tile.taps = conv.taps;
    tile.silu = conv.silu;
    tile.out = out + slice.row * conv.channels + channel;
    tile.scratch = reinterpret_cast<float*>(thread_scratch_[static_cast<size_t>(thread)].data());
    kernels_.convolve(tile);
  });
}

void VectorBackend::gated_delta_rule(const DeltaRuleInput& input,
                                     std::span<const StateSlice> slices, const DeltaRule& rule,
                                     const StateLayer& state, float* out) {
  plan_state(slices, rule.heads, state_panels(rule.value_dim));
  for (AlignedBuffer& scratch : thread_scratch_)
    reserve(scratch, delta_scratch(rule.key_dim) * static_cast<int64_t>(sizeof(float)));
  const float q_scale = 1.0f / std::sqrt(static_cast<float>(rule.key_dim));
  pool_.run(static_cast<int64_t>(state_items_.size()), [&](int64_t index, int thread) {
    const StateItem& item = state_items_[static_cast<size_t>(index)];
    const StateSlice& slice = slices[static_cast<size_t>(item.slice)];
    const int64_t head = item.head;
    const int64_t keys = rule.key_of_head[static_cast<size_t>(head)] * rule.key_dim;
    DeltaTile tile;
    tile.q = input.q + slice.row * input.stride + keys;
    tile.k = input.k + slice.row * input.stride + keys;
    tile.v = input.v + slice.row * input.stride + head * rule.value_dim;
    tile.stride = input.stride;
    tile.a = input.a + slice.row * input.a_stride + head * rule.decays;
    tile.a_stride = input.a_stride;
    tile.b = input.b + slice.row * input.b_stride + head;
    tile.b_stride = input.b_stride;
    tile.decays = rule.decays;
    tile.a_log = rule.a_log[head];
    tile.dt_bias = rule.dt_bias + head * rule.decays;
    tile.lower_bound = rule.lower_bound;
    tile.eps = rule.eps;
    tile.q_scale = q_scale;
    tile.tokens = slice.tokens;
    tile.fresh = slice.start == 0;
    tile.key_dim = rule.key_dim;
    tile.value_dim = rule.value_dim;
    tile.state = state.data + slice.state * state.slot_floats +
                 recurrent_state_floats(head, rule.key_dim, rule.value_dim);
    tile.panel = item.panel;
    tile.panel_end = item.panel_end;
    tile.out = out + (slice.row * rule.heads + head) * rule.value_dim;
    tile.out_stride = rule.heads * rule.value_dim;
    tile.scratch = reinterpret_cast<float*>(thread_scratch_[static_cast<size_t>(thread)].data());
    kernels_.delta_rule(tile);
  });
}

void VectorBackend::ssm_scan(const SsmInput& input, std::span<const StateSlice> slices,
                             const SsmScan& scan, const StateLayer& state, float* out) {
  plan_state(slices, scan.heads, state_panels(scan.head_dim));
  pool_.run(static_cast<int64_t>(state_items_.size()), [&](int64_t index, int) {
    const StateItem& item = state_items_[static_cast<size_t>(index)];
    const StateSlice& slice = slices[static_cast<size_t>(item.slice)];
    const int64_t head = item.head;
    const int64_t group = scan.group_of_head[static_cast<size_t>(head)] * scan.state_dim;
    SsmTile tile;
    tile.x = input.x + slice.row * input.stride + head * scan.head_dim;
    tile.b = input.b + slice.row * input.stride + group;
    tile.c = input.c + slice.row * input.stride + group;
    tile.stride = input.stride;
    tile.dt = input.dt + slice.row * input.dt_stride + head;
    tile.dt_stride = input.dt_stride;
    tile.a_log = scan.a_log[head];
    tile.dt_bias = scan.dt_bias[head];
    tile.dt_min = scan.dt_min;
    tile.dt_max = scan.dt_max;
    tile.d = scan.d[head];
    tile.tokens = slice.tokens;
    tile.fresh = slice.start == 0;
    tile.state_dim = scan.state_dim;
    tile.head_dim = scan.head_dim;
    tile.state = state.data + slice.state * state.slot_floats +
                 recurrent_state_floats(head, scan.state_dim, scan.head_dim);
    tile.panel = item.panel;
    tile.panel_end = item.panel_end;
    tile.out = out + (slice.row * scan.heads + head) * scan.head_dim;
    tile.out_stride = scan.heads * scan.head_dim;
    kernels_.ssm_scan(tile);
  });
}

void VectorBackend::gated_norm(const float* x, int64_t rows, int64_t stride, const float* z,
                               int64_t z_stride, const GatedNorm& norm, float* out) {
  const auto gate = kernels_.gate_row[norm.gate == GatedNorm::Gate::sigmoid];
  const bool gate_first = norm.order == GatedNorm::Order::gate_first;
  each_row(rows, norm.groups * norm.width * 4, [&](int64_t row) {
    for (int64_t group = 0; group < norm.groups; ++group) {
      const int64_t first = group * norm.width;
      const float* in = x + row * stride + first;
      const float* gates = z + row * z_stride + first;
      const float* w = norm.w + (norm.shared_w ? 0 : first);
      float* const result = out + row * stride + first;
      if (gate_first) {
        gate(in, gates, norm.width, result);
        in = result;
      }
      const float mean = kernels_.sum_squares(in, norm.width) / static_cast<float>(norm.width);
      kernels_.scale_row(in, norm.width, 1.0f / std::sqrt(mean + norm.eps), w, result);
      if (!gate_first) gate(result, gates, norm.width, result);
    }
  });
}

}  // namespace dure
