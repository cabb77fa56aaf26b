// See inventory.h: the one place that knows which weights a decoder of a given spec has. Attention
// and feed-forward parts are listed in attention_inventory.cc and ffn_inventory.cc.
#include "model/inventory.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/gguf/gguf_names.h"
#include "model/weight_lister.h"

namespace dure {
namespace {

// How the part after `norm` reads the streams, where there are several.
void list_streams(WeightLister& lister, const ModelSpec& spec, bool attention) {
  if (spec.residual_block > 0) {
    const std::string name = attention ? "self_attention_res_" : "mlp_res_";
    lister.norm(name + "norm", Part::stream_mix, spec.hidden);
    lister.add(name + "proj.weight", Part::stream_mix, Split::replicated, {1, spec.hidden});
  }
  if (spec.streams > 1) {
    const std::string name = attention ? "hc_attn_" : "hc_ffn_";
    const int64_t rows = (2 + spec.streams) * spec.streams;
    lister.add_f32(name + "fn", Part::stream_mix, {rows, spec.streams * spec.hidden});
    lister.add_f32(name + "base", Part::stream_mix, {rows});
    lister.add_f32(name + "scale", Part::stream_mix, {3});
  }
}

// And the output, at the end.
void list_last_streams(WeightLister& lister, const ModelSpec& spec) {
  if (spec.residual_block > 0) {
    lister.norm("output_attn_res_norm", Part::stream_mix, spec.hidden);
    lister.add("output_attn_res_proj.weight", Part::stream_mix, Split::replicated,
               {1, spec.hidden});
  }
  if (spec.streams > 1) {
    lister.add_f32("hc_head_fn", Part::stream_mix, {spec.streams, spec.streams * spec.hidden});
    lister.add_f32("hc_head_base", Part::stream_mix, {spec.streams});
    lister.add_f32("hc_head_scale", Part::stream_mix, {1});
  }
}

void list_layer(WeightLister& lister, const ModelSpec& spec, const LayerSpec& layer) {
  const WeightNames& names = spec.names;
  if (!std::holds_alternative<std::monostate>(layer.attention)) {
    lister.norm(names.attention_norm, Part::attention_norm, spec.hidden);
    list_attention(lister, spec, layer.attention);
    if (spec.norms_after) {
      lister.norm(names.after_attention_norm, Part::after_attention_norm, spec.hidden);
    }
    list_streams(lister, spec, true);
  }
  if (!std::holds_alternative<std::monostate>(layer.ffn)) {
    lister.norm(names.ffn_norm, Part::ffn_norm, spec.hidden);
    list_ffn(lister, spec, layer.ffn);
    if (spec.norms_after) lister.norm(names.after_ffn_norm, Part::after_ffn_norm, spec.hidden);
    list_streams(lister, spec, false);
  }
  if (layer.output_scale) {
    lister.add("layer_scalar", Part::layer_scale, Split::replicated, {1});
  }
}

}  // namespace

int64_t Weight::elements() const {
  int64_t product = 1;
  for (int64_t size : shape) product *= size;
  return product;
}

int64_t Weight::bytes_of_elements(int64_t count) const {
  if (!blocks) return count * bytes_of(dtype);
  const BlockSize block = size_of(*blocks);
  return (count * block.bytes + block.values - 1) / block.values;
}

int64_t Weight::bytes() const {
  if (!scales) return bytes_of_elements(elements());
  return BlockRows{shape[0], *blocks, scales}.bytes({0, shape[1]});
}

bool Weight::rows_of_blocks() const {
  if (!blocks || !is_matrix() || plus_one || view.column_stride != 1) return false;
  const int64_t values = scales ? tensor_shape.back() : size_of(*blocks).values;
  return shape[1] % values == 0 && view.offset % values == 0 && view.row_stride % values == 0 &&
         view.block_stride % values == 0;
}

bool Weight::follows_rows(int64_t rows) const {
  const int64_t width = tensor_shape.back();
  return view.block_rows == 0 && view.row_stride == width && view.offset % (rows * width) == 0;
}

namespace {

// Of the layers with `is_listed` set.
std::vector<Weight> inventory_of(const ModelSpec& spec, const std::vector<bool>& is_listed) {
  WeightLister lister(spec);
  const WeightNames& names = spec.names;
  lister.enter(names.body);
  lister.add(names.embedding + ".weight", Part::embedding, Split::vocabulary,
             {spec.vocab, spec.hidden});
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    if (!is_listed[i]) continue;
    lister.enter(fmt::format("{}layers.{}.", names.body, i), static_cast<int>(i));
    list_layer(lister, spec, spec.layers[i]);
  }
  lister.enter(names.body);
  list_last_streams(lister, spec);
  lister.norm(names.final_norm, Part::final_norm, spec.hidden);
  if (!spec.tied_embeddings) {
    lister.enter("");
    lister.add(names.head, Part::lm_head, Split::vocabulary, {spec.vocab, spec.hidden});
  }
  std::vector<Weight> weights = lister.take();
  if (names.gguf) place_in_gguf(spec, weights);
  return weights;
}

}  // namespace

std::vector<Weight> inventory(const ModelSpec& spec) {
  return inventory_of(spec, std::vector<bool>(spec.layers.size(), true));
}

std::vector<Weight> inventory_of_kinds(const ModelSpec& spec) {
  std::vector<bool> is_first;
  for (auto layer = spec.layers.begin(); layer != spec.layers.end(); ++layer) {
    is_first.push_back(std::find(spec.layers.begin(), layer, *layer) == layer);
  }
  return inventory_of(spec, is_first);
}

int64_t total_parameters(const ModelSpec& spec) {
  int64_t sum = 0;
  for (const Weight& weight : inventory(spec)) sum += weight.elements();
  return sum;
}

int64_t active_parameters(const ModelSpec& spec) {
  int64_t sum = 0;
  for (const Weight& weight : inventory(spec)) {
    const bool of_all = weight.part == Part::expert_down_bias;
    if (weight.expert < 0 && !of_all) {
      sum += weight.elements();
      continue;
    }
    // Experts of a layer are alike: the first ones stand for those that a token is sent to.
    const FfnSpec& ffn = spec.layers[static_cast<size_t>(weight.layer)].ffn;
    const int64_t top_k = std::get<MoeFfn>(ffn).top_k;
    if (of_all) sum += top_k * weight.shape[1];
    if (!of_all && weight.expert < top_k) sum += weight.elements();
  }
  return sum;
}

}  // namespace dure
