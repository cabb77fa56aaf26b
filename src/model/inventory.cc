// See inventory.h: the one place that knows which weights a decoder of a given spec has. Attention
// and feed-forward parts are listed in attention_inventory.cc and ffn_inventory.cc.
#include "model/inventory.h"

#include <fmt/format.h>

#include "model/weight_lister.h"

namespace dure {
namespace {

void list_layer(WeightLister& lister, const ModelSpec& spec, const LayerSpec& layer) {
  const WeightNames& names = spec.names;
  lister.norm(names.attention_norm, Part::attention_norm, spec.hidden);
  list_attention(lister, spec, layer.attention);
  if (spec.norms_after) {
    lister.norm(names.after_attention_norm, Part::after_attention_norm, spec.hidden);
  }
  lister.norm(names.ffn_norm, Part::ffn_norm, spec.hidden);
  list_ffn(lister, spec, layer.ffn);
  if (spec.norms_after) lister.norm(names.after_ffn_norm, Part::after_ffn_norm, spec.hidden);
}

}  // namespace

int64_t Weight::elements() const {
  int64_t product = 1;
  for (int64_t size : shape) product *= size;
  return product;
}

std::vector<Weight> inventory(const ModelSpec& spec) {
  WeightLister lister(spec);
  const WeightNames& names = spec.names;
  lister.enter(names.body);
  lister.add("embed_tokens.weight", Part::embedding, Split::vocabulary, {spec.vocab, spec.hidden});
  for (size_t i = 0; i < spec.layers.size(); ++i) {
    lister.enter(fmt::format("{}layers.{}.", names.body, i), static_cast<int>(i));
    list_layer(lister, spec, spec.layers[i]);
  }
  lister.enter(names.body);
  lister.norm("norm", Part::final_norm, spec.hidden);
  if (!spec.tied_embeddings) {
    lister.enter("");
    lister.add(names.head, Part::lm_head, Split::vocabulary, {spec.vocab, spec.hidden});
  }
  return lister.take();
}

int64_t total_parameters(const ModelSpec& spec) {
  int64_t sum = 0;
  for (const Weight& weight : inventory(spec)) sum += weight.elements();
  return sum;
}

int64_t active_parameters(const ModelSpec& spec) {
  int64_t active = total_parameters(spec);
  for (const LayerSpec& layer : spec.layers) {
    if (const auto* moe = std::get_if<MoeFfn>(&layer.ffn)) {
      int64_t expert = 3 * moe->intermediate * spec.hidden;
      if (moe->bias) expert += 2 * moe->intermediate + spec.hidden;
      active -= (moe->experts - moe->top_k) * expert;
    }
  }
  return active;
}

}  // namespace dure
