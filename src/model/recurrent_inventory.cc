// The weights of layers that keep a state instead of a cache: delta nets and Mamba-2.
#include <fmt/format.h>

#include "model/weight_lister.h"

namespace dure {
namespace {

// Of a delta net. "Key heads" split as kv heads do, heads of v as query heads.
class DeltaLister {
 public:
  DeltaLister(WeightLister& lister, const ModelSpec& spec, const DeltaNetSpec& delta)
      : lister_(lister),
        name_(spec.names.delta_net + "."),
        hidden_(spec.hidden),
        delta_(delta),
        keys_(delta.key_heads * delta.key_dim),
        values_(delta.heads * delta.value_dim) {}

  void list(DeltaStorage storage) {
    switch (storage) {
      case DeltaStorage::separate:
        list_separate();
        break;
      case DeltaStorage::grouped:
        list_grouped();
        break;
      case DeltaStorage::joined:
        list_joined();
        break;
    }
    const int64_t decays = delta_.decay_rank ? delta_.heads * delta_.key_dim : delta_.heads;
    vector("dt_bias", Part::state_decay_bias, decays);
    vector("A_log", Part::state_decay_log, delta_.heads).dtype = DType::f32;
  }

 private:
  Weight& matrix(std::string_view name, Part part, Split split, int64_t outputs, int64_t inputs) {
    return lister_.add(fmt::format("{}{}.weight", name_, name), part, split, {outputs, inputs});
  }
  Weight& vector(std::string_view name, Part part, int64_t width) {
    return lister_.add(fmt::format("{}{}", name_, name), part, Split::q_heads, {width});
  }

  // Of each key head's `block` rows of a tensor, the `rows` from `first` on.
  void of_key_heads(std::string_view name, Part part, Split split, int64_t rows, int64_t first,
                    int64_t block) {
    lister_.add_part(fmt::format("{}{}.weight", name_, name), part, split,
                     {delta_.key_heads * rows, hidden_}, {delta_.key_heads * block, hidden_},
                     {.offset = first * hidden_,
                      .row_stride = hidden_,
                      .block_rows = rows,
                      .block_stride = block * hidden_});
  }
  // `rows` rows from `first` on, of `columns` elements each, of a tensor of `all` rows.
  void rows_of(std::string_view name, Part part, Split split, int64_t rows, int64_t first,
               int64_t columns) {
    lister_.add_part(fmt::format("{}{}.weight", name_, name), part, split, {rows, columns},
                     {2 * keys_ + values_, columns},
                     {.offset = first * columns, .row_stride = columns});
  }

  void list_grouped() {
    const int64_t shared = delta_.heads / delta_.key_heads;  // heads of v to one of keys
    const int64_t key = delta_.key_dim;
    const int64_t value = shared * delta_.value_dim;
    const int64_t block = 2 * key + 2 * value;
    of_key_heads("in_proj_qkvz", Part::state_q, Split::kv_heads, key, 0, block);
    of_key_heads("in_proj_qkvz", Part::state_k, Split::kv_heads, key, key, block);
    of_key_heads("in_proj_qkvz", Part::state_v, Split::q_heads, value, 2 * key, block);
    of_key_heads("in_proj_qkvz", Part::state_gate, Split::q_heads, value, 2 * key + value, block);
    of_key_heads("in_proj_ba", Part::state_beta, Split::q_heads, shared, 0, 2 * shared);
    of_key_heads("in_proj_ba", Part::state_decay, Split::q_heads, shared, shared, 2 * shared);
    list_joined_convolution();
    list_output("norm", "out_proj");
  }

  void list_joined() {
    rows_of("in_proj_qkv", Part::state_q, Split::kv_heads, keys_, 0, hidden_);
    rows_of("in_proj_qkv", Part::state_k, Split::kv_heads, keys_, keys_, hidden_);
    rows_of("in_proj_qkv", Part::state_v, Split::q_heads, values_, 2 * keys_, hidden_);
    matrix("in_proj_z", Part::state_gate, Split::q_heads, values_, hidden_);
    matrix("in_proj_b", Part::state_beta, Split::q_heads, delta_.heads, hidden_);
    matrix("in_proj_a", Part::state_decay, Split::q_heads, delta_.heads, hidden_);
    list_joined_convolution();
    list_output("norm", "out_proj");
  }

  void list_joined_convolution() {
    const int64_t width = delta_.conv_width;
    rows_of("conv1d", Part::state_conv_q, Split::kv_heads, keys_, 0, width);
    rows_of("conv1d", Part::state_conv_k, Split::kv_heads, keys_, keys_, width);
    rows_of("conv1d", Part::state_conv_v, Split::q_heads, values_, 2 * keys_, width);
  }

  void list_separate() {
    matrix("q_proj", Part::state_q, Split::kv_heads, keys_, hidden_);
    matrix("k_proj", Part::state_k, Split::kv_heads, keys_, hidden_);
    matrix("v_proj", Part::state_v, Split::q_heads, values_, hidden_);
    matrix("q_conv1d", Part::state_conv_q, Split::kv_heads, keys_, delta_.conv_width);
    matrix("k_conv1d", Part::state_conv_k, Split::kv_heads, keys_, delta_.conv_width);
    matrix("v_conv1d", Part::state_conv_v, Split::q_heads, values_, delta_.conv_width);
    const int64_t decay_rank = delta_.decay_rank.value_or(delta_.key_dim);
    matrix("f_a_proj", Part::state_decay_a, Split::replicated, decay_rank, hidden_);
    matrix("f_b_proj", Part::state_decay_b, Split::q_heads, delta_.heads * delta_.key_dim,
           decay_rank);
    matrix("b_proj", Part::state_beta, Split::q_heads, delta_.heads, hidden_);
    if (delta_.gate_rank) {
      matrix("g_a_proj", Part::state_gate_a, Split::replicated, *delta_.gate_rank, hidden_);
      matrix("g_b_proj", Part::state_gate_b, Split::q_heads, values_, *delta_.gate_rank);
    } else {
      matrix("g_proj", Part::state_gate, Split::q_heads, values_, hidden_);
    }
    list_output("o_norm", "o_proj");
  }

  // The norm is over each head, and its weights are stored as they are, whatever the others are.
  void list_output(std::string_view norm, std::string_view out) {
    lister_.add(fmt::format("{}{}.weight", name_, norm), Part::state_norm, Split::replicated,
                {delta_.value_dim});
    matrix(out, Part::state_out, Split::q_heads_input, hidden_, values_);
  }

  WeightLister& lister_;
  std::string name_;
  int64_t hidden_;
  const DeltaNetSpec& delta_;
  int64_t keys_;
  int64_t values_;
};

}  // namespace

void list_kind(WeightLister& lister, const ModelSpec& spec, const DeltaNetSpec& delta) {
  DeltaLister(lister, spec, delta).list(spec.names.delta_storage);
}

// in_proj holds z, x, B, C, dt; conv1d runs over x, B, C.
void list_kind(WeightLister& lister, const ModelSpec& spec, const Mamba2Spec& mamba) {
  const std::string name = spec.names.attention + ".";
  const int64_t inner = mamba.heads * mamba.head_dim;
  const int64_t states = mamba.groups * mamba.state_dim;
  const auto rows = [&](std::string_view tensor, Part part, Split split, int64_t count,
                        int64_t first, int64_t all, int64_t columns) {
    lister.add_part(fmt::format("{}{}.weight", name, tensor), part, split, {count, columns},
                    {all, columns}, {.offset = first * columns, .row_stride = columns});
  };
  const int64_t all = 2 * inner + 2 * states + mamba.heads;
  rows("in_proj", Part::state_gate, Split::q_heads, inner, 0, all, spec.hidden);
  rows("in_proj", Part::state_v, Split::q_heads, inner, inner, all, spec.hidden);
  rows("in_proj", Part::state_k, Split::kv_heads, states, 2 * inner, all, spec.hidden);
  rows("in_proj", Part::state_q, Split::kv_heads, states, 2 * inner + states, all, spec.hidden);
  rows("in_proj", Part::state_decay, Split::q_heads, mamba.heads, all - mamba.heads, all,
       spec.hidden);

  const int64_t channels = inner + 2 * states;
  rows("conv1d", Part::state_conv_v, Split::q_heads, inner, 0, channels, mamba.conv_width);
  rows("conv1d", Part::state_conv_k, Split::kv_heads, states, inner, channels, mamba.conv_width);
  rows("conv1d", Part::state_conv_q, Split::kv_heads, states, inner + states, channels,
       mamba.conv_width);
  if (mamba.conv_bias) {
    const auto bias = [&](Part part, Split split, int64_t count, int64_t first) {
      lister.add_part(name + "conv1d.bias", part, split, {count}, {channels},
                      {.offset = first, .row_stride = 1});
    };
    bias(Part::state_conv_bias_v, Split::q_heads, inner, 0);
    bias(Part::state_conv_bias_k, Split::kv_heads, states, inner);
    bias(Part::state_conv_bias_q, Split::kv_heads, states, inner + states);
  }
  lister.add(name + "dt_bias", Part::state_decay_bias, Split::q_heads, {mamba.heads});
  lister.add(name + "A_log", Part::state_decay_log, Split::q_heads, {mamba.heads}).dtype =
      DType::f32;
  lister.add(name + "D", Part::state_skip, Split::q_heads, {mamba.heads});
  lister.add(name + "norm.weight", Part::state_norm, Split::q_heads, {inner});
  lister.add(name + "out_proj.weight", Part::state_out, Split::q_heads_input, {spec.hidden, inner});
}

}  // namespace dure
