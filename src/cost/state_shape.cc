// See state_shape.h.
#include "cost/state_shape.h"

namespace dure {
namespace {

constexpr int64_t floats_of_line = 16;  // 64 bytes

int64_t rounded_up(int64_t n, int64_t to) {
  return (n + to - 1) / to * to;
}

StateFloats floats_of(int64_t heads, int64_t keys, int64_t values, int64_t channels,
                      int64_t conv_width) {
  StateFloats floats;
  floats.recurrence = heads * keys * rounded_up(values, panel_width);
  floats.convolution = rounded_up(channels * (conv_width - 1), floats_of_line);
  return floats;
}

}  // namespace

StateFloats state_of(const AttentionSpec& attention, int tp_size, int tp_index) {
  const HeadShare heads = heads_of(attention, tp_size, tp_index);
  if (const auto* delta = std::get_if<DeltaNetSpec>(&attention)) {
    return floats_of(heads.q.size(), delta->key_dim, delta->value_dim,
                     state_row(*delta, heads).convolved(), delta->conv_width);
  }
  if (const auto* mamba = std::get_if<Mamba2Spec>(&attention)) {
    return floats_of(heads.q.size(), mamba->state_dim, mamba->head_dim,
                     state_row(*mamba, heads).convolved(), mamba->conv_width);
  }
  StateFloats floats;
  const auto* compressed = std::get_if<CompressedSpec>(&attention);
  if (compressed != nullptr && heads.q.size() > 0) {
    floats.window = compressed->window * compressed->head_dim;
  }
  return floats;
}

StateRow state_row(const DeltaNetSpec& delta, const HeadShare& heads) {
  StateRow row;
  row.q = heads.kv.size() * delta.key_dim;
  row.k = row.q;
  row.v = heads.q.size() * delta.value_dim;
  row.beta = heads.q.size();
  if (delta.decay_rank) {
    row.decay_a = *delta.decay_rank;
    row.decay_b = heads.q.size() * delta.key_dim;
  } else {
    row.decay = heads.q.size();
  }
  if (delta.gate_rank) {
    row.gate_a = *delta.gate_rank;
    row.gate_b = row.v;
  } else {
    row.gate = row.v;
  }
  return row;
}

StateRow state_row(const Mamba2Spec& mamba, const HeadShare& heads) {
  StateRow row;
  row.q = heads.kv.size() * mamba.state_dim;
  row.k = row.q;
  row.v = heads.q.size() * mamba.head_dim;
  row.gate = row.v;
  row.decay = heads.q.size();
  return row;
}

}  // namespace dure
