// See memory.h.
#include "cost/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "base/error.h"
#include "cost/most_bytes.h"
#include "cost/resident.h"
#include "cost/retype.h"
#include "cost/state_shape.h"
#include "cost/step_buffers.h"

namespace dure {
namespace {

int64_t in_whole_pages(int64_t tokens, int64_t page_tokens) {
  return (tokens + page_tokens - 1) / page_tokens * page_tokens;
}

// Bytes of the layers that the rank holds: the tokens that `tokens_of` gives an attention, times
// what each takes.
template <typename TokensOf>
int64_t cache_bytes_of(const ModelSpec& spec, const Layout& layout, const RankShare& share,
                       const RunShape& shape, TokensOf tokens_of) {
  int64_t bytes = 0;
  for (int64_t i = share.layers.begin; i < share.layers.end; ++i) {
    const AttentionSpec& attention = spec.layers[static_cast<size_t>(i)].attention;
    const int64_t token =
        cached_elements(attention, layout.tp, share.place.tp) * shape.kv_element_bytes;
    bytes = bounded_sum(bytes, bounded_product(tokens_of(attention), token));
  }
  return bytes;
}

// The keys of a step's own tokens in windowed layers, of which only windows stay: at most one page
// more than the tokens, since chunks begin within pages.
int64_t passing_bytes(const ModelSpec& spec, const Layout& layout, const RankShare& share,
                      const RunShape& shape) {
  if (!shape.windows_apart) return 0;
  const int64_t tokens =
      in_whole_pages(shape.max_batch_tokens, shape.page_tokens) + shape.page_tokens;
  return cache_bytes_of(spec, layout, share, shape, [&](const AttentionSpec& attention) {
    return window_of(attention) ? tokens : 0;
  });
}

// Everything but the weights.
RankMemory run_memory(const ModelSpec& spec, const Layout& layout, const RankShare& share,
                      const RunShape& shape) {
  RankMemory memory;
  const int64_t kept = state_bytes(spec, layout, share) + window_bytes(spec, layout, share, shape);
  memory.kv = bounded_sum(bounded_product(shape.pages, kv_page_bytes(spec, layout, share, shape)),
                          bounded_product(shape.states, kept));
  memory.activation = passing_bytes(spec, layout, share, shape);
  for (const StepBufferSize& size :
       step_buffers(spec, layout, share, shape.max_batch_tokens, shape.context)) {
    (size.communication ? memory.communication : memory.activation) += size.bytes;
  }
  memory.overhead = shape.overhead;
  return memory;
}

int64_t experts_held(const LayerSpec& layer, const Layout& layout, const RankShare& share) {
  const auto* moe = std::get_if<MoeFfn>(&layer.ffn);
  return moe == nullptr ? 0 : experts_of(*moe, layout, share.place.ep).size();
}

// The same weights, of another layer that is equal: names count layers by their first number.
std::vector<Weight> of_layer(std::vector<Weight> weights, int layer) {
  for (Weight& weight : weights) {
    if (weight.layer == layer) continue;
    const std::string number = fmt::format(".{}.", weight.layer);
    const size_t at = weight.name.find(number);
    if (at != std::string::npos) {
      weight.name.replace(at, number.size(), fmt::format(".{}.", layer));
    }
    weight.layer = layer;
  }
  return weights;
}

}  // namespace

int64_t kv_page_bytes(const ModelSpec& spec, const Layout& layout, const RankShare& share,
                      const RunShape& shape) {
  if (!shape.windows_apart) {
    const PageLayout pages = page_layout(spec, layout, share, page_classes_of(spec, shape));
    return bounded_product(pages.elements, shape.page_tokens * shape.kv_element_bytes);
  }
  return cache_bytes_of(spec, layout, share, shape, [&](const AttentionSpec& attention) {
    return window_of(attention) ? 0 : shape.page_tokens;
  });
}

std::vector<PageClass> page_classes_of(const ModelSpec& spec, const RunShape& shape) {
  if (shape.windows_apart) return {PageClass{}};
  return page_classes(spec, shape.context);
}

int64_t sequence_pages(const ModelSpec& spec, const RunShape& shape) {
  return pages_of_sequence(page_classes_of(spec, shape), shape.context, shape.page_tokens,
                           shape.max_batch_tokens);
}

int64_t tokens_held(const ModelSpec& spec, const RunShape& shape, int64_t pages) {
  const int64_t blocks = (shape.context + shape.page_tokens - 1) / shape.page_tokens;
  const int64_t each = sequence_pages(spec, shape);
  // In whole sequences this counts a part of one as well.
  const int64_t held = each == blocks ? pages : bounded_product(pages, blocks) / each;
  return bounded_product(held, shape.page_tokens);
}

int64_t window_bytes(const ModelSpec& spec, const Layout& layout, const RankShare& share,
                     const RunShape& shape) {
  if (!shape.windows_apart) return 0;
  return cache_bytes_of(spec, layout, share, shape, [&](const AttentionSpec& attention) {
    const std::optional<int64_t> window = window_of(attention);
    return window ? in_whole_pages(std::min(shape.context, *window), shape.page_tokens) : 0;
  });
}

int64_t sequence_bytes(const ModelSpec& spec, const Layout& layout, const RankShare& share,
                       const RunShape& shape) {
  const int64_t pages = sequence_pages(spec, shape);
  const int64_t kept = state_bytes(spec, layout, share) + window_bytes(spec, layout, share, shape);
  return bounded_sum(bounded_product(pages, kv_page_bytes(spec, layout, share, shape)), kept);
}

int64_t state_bytes(const ModelSpec& spec, const Layout& layout, const RankShare& share) {
  int64_t floats = 0;
  for (int64_t i = share.layers.begin; i < share.layers.end; ++i) {
    const AttentionSpec& attention = spec.layers[static_cast<size_t>(i)].attention;
    floats += state_of(attention, layout.tp, share.place.tp).total();
  }
  return floats * static_cast<int64_t>(sizeof(float));
}

int64_t kv_bytes_per_token(const ModelSpec& spec, const Layout& layout, const RankShare& share,
                           int64_t element_bytes) {
  RunShape shape;
  shape.kv_element_bytes = element_bytes;
  return cache_bytes_of(spec, layout, share, shape, [](const AttentionSpec&) { return 1; });
}

int64_t kv_bytes_per_token(const ModelSpec& spec, DType kv_dtype) {
  return kv_bytes_per_token(spec, {}, share_of(spec, {}, 0), bytes_of(kv_dtype));
}

std::optional<int64_t> windowed_tokens_per_sequence(const ModelSpec& spec, int64_t context,
                                                    int64_t chunk_tokens, int64_t page_tokens) {
  int64_t widest = 0;
  for (const LayerSpec& layer : spec.layers) {
    const std::optional<int64_t> window = window_of(layer.attention);
    if (!window) return std::nullopt;
    widest = std::max(widest, *window);
  }
  const int64_t tokens = std::min(context, widest - 1 + std::min(chunk_tokens, context));
  return in_whole_pages(tokens, page_tokens) + page_tokens;
}

RankMemory rank_memory(const std::vector<Weight>& weights, const ModelSpec& spec,
                       const Layout& layout, int rank, const RunShape& shape) {
  const RankShare share = share_of(spec, layout, rank);
  RankMemory memory = run_memory(spec, layout, share, shape);
  for (const Resident& each : resident_weights(weights, spec, layout, share, shape.arithmetic())) {
    memory.weights += each.payload();
    memory.padding += each.bytes() - each.payload();
  }
  return memory;
}

MemoryModel::MemoryModel(const ModelSpec& spec, std::optional<WeightFormat> format)
    : spec_(spec), format_(format) {
  std::vector<Weight> outer;
  std::vector<LayerWeights> of_layers(spec_.layers.size());
  for (Weight& weight : inventory_of_kinds(spec_)) {
    if (weight.layer < 0) {
      outer.push_back(std::move(weight));
    } else if (weight.expert <= 0) {
      LayerWeights& layer = of_layers[static_cast<size_t>(weight.layer)];
      (weight.expert < 0 ? layer.weights : layer.expert).push_back(std::move(weight));
    }
  }
  outer_ = typed(std::move(outer));
  for (size_t i = 0; i < spec_.layers.size(); ++i) {
    const auto same = std::find(spec_.layers.begin(), spec_.layers.end(), spec_.layers[i]);
    const LayerWeights& first = of_layers[static_cast<size_t>(same - spec_.layers.begin())];
    join_kind(static_cast<int>(i), first);
  }
}

MemoryModel::TypedWeights MemoryModel::typed(std::vector<Weight> weights) const {
  TypedWeights typed{std::move(weights), {}};
  for (const Weight& weight : typed.weights) {
    typed.formats.push_back(counted_in(weight, spec_, format_));
  }
  return typed;
}

// Equal layers may be stored in different formats.
void MemoryModel::join_kind(int layer, const LayerWeights& of_equal) {
  const auto equal = [&](const LayerKind& kind) {
    return spec_.layers[static_cast<size_t>(kind.first)] ==
           spec_.layers[static_cast<size_t>(layer)];
  };
  const bool may_differ =
      format_ && format_->released &&
      std::any_of(spec_.release.rules.begin(), spec_.release.rules.end(),
                  [](const FormatRule& rule) { return rule.names.tells_layers_apart(); });
  auto kind = std::find_if(kinds_.begin(), kinds_.end(), equal);
  if (kind == kinds_.end() || may_differ) {
    LayerKind own{layer, std::vector<bool>(spec_.layers.size()),
                  typed(of_layer(of_equal.weights, layer)),
                  typed(of_layer(of_equal.expert, layer))};
    kind = std::find_if(kinds_.begin(), kinds_.end(), [&](const LayerKind& each) {
      return equal(each) && each.weights.formats == own.weights.formats &&
             each.expert.formats == own.expert.formats;
    });
    if (kind == kinds_.end()) kind = kinds_.insert(kinds_.end(), std::move(own));
  }
  kind->members[static_cast<size_t>(layer)] = true;
}

// Bytes of a matrix or table some of whose weights are counted in another type than their own;
// nothing where none is.
std::optional<int64_t> MemoryModel::retyped_payload(const Resident& each,
                                                    const TypedWeights& typed) {
  // Made codes while loading, it is that, whatever the file holds.
  if (each.form == Form::packed && each.shape.coded()) return std::nullopt;
  // Neighbours in one matrix may be stored differently: those alike are counted together.
  constexpr double as_stored = 0.0;
  std::map<double, int64_t> alike;  // bits of a weight → weights
  for (const ResidentPiece& piece : each.pieces) {
    const std::optional<WeightFormat>& format = typed.format_of(*piece.weight);
    alike[format ? format->bits_per_weight : as_stored] += piece.slice.elements();
  }
  if (alike.empty() || alike.rbegin()->first == as_stored) return std::nullopt;
  int64_t payload = 0;
  for (const auto& [bits, count] : alike) {
    payload += bits == as_stored ? each.payload() / std::max<int64_t>(each.elements(), 1) * count
                                 : bytes_in({"", bits}, count);
  }
  return payload;
}

void MemoryModel::hold(const TypedWeights& typed, const Layout& layout, const RankShare& share,
                       Arithmetic arithmetic, HeldTensor counts,
                       std::vector<HeldTensor>& held) const {
  for (const Resident& each : resident_weights(typed.weights, spec_, layout, share, arithmetic)) {
    const std::optional<int64_t> retyped = retyped_payload(each, typed);
    counts.slot = each.slot;
    counts.retyped = retyped.has_value();
    counts.payload = retyped.value_or(each.payload());
    counts.padding = retyped ? 0 : each.bytes() - each.payload();
    held.push_back(counts);
  }
}

void MemoryModel::hold_kind(const LayerKind& kind, int64_t layers, const Layout& layout,
                            const RankShare& share, Arithmetic arithmetic,
                            std::vector<HeldTensor>& held) const {
  // A rank of the stage that holds this layer alone, and one expert in place of its many.
  RankShare alone = share;
  alone.layers = {kind.first, kind.first + 1};
  const LayerSpec& layer = spec_.layers[static_cast<size_t>(kind.first)];
  const int64_t experts = experts_held(layer, layout, share);
  HeldTensor counts;
  counts.layers = layers;
  hold(kind.weights, layout, alone, arithmetic, counts, held);
  if (experts == 0) return;
  const auto& moe = std::get<MoeFfn>(layer.ffn);
  TypedWeights expert = kind.expert;
  for (Weight& weight : expert.weights) {
    weight.expert = static_cast<int>(experts_of(moe, layout, share.place.ep).begin);
  }
  counts.experts = experts;
  hold(expert, layout, alone, arithmetic, counts, held);
}

std::vector<HeldTensor> MemoryModel::held(const Layout& layout, int rank,
                                          Arithmetic arithmetic) const {
  const RankShare share = share_of(spec_, layout, rank);
  std::vector<HeldTensor> held;
  hold(outer_, layout, share, arithmetic, {}, held);
  for (const LayerKind& kind : kinds_) {
    const auto first = kind.members.begin() + share.layers.begin;
    const auto last = kind.members.begin() + share.layers.end;
    const int64_t layers = std::count(first, last, true);
    if (layers > 0) hold_kind(kind, layers, layout, share, arithmetic, held);
  }
  return held;
}

RankMemory MemoryModel::of(const Layout& layout, int rank, const RunShape& shape) const {
  RankMemory memory = run_memory(spec_, layout, share_of(spec_, layout, rank), shape);
  for (const HeldTensor& each : held(layout, rank, shape.arithmetic())) {
    memory.weights += each.layers * each.experts * each.payload;
    memory.padding += each.layers * each.experts * each.padding;
  }
  return memory;
}

int64_t MemoryModel::all_weights() const {
  const auto bytes = [](const TypedWeights& typed) {
    int64_t sum = 0;
    for (size_t i = 0; i < typed.weights.size(); ++i) {
      const Weight& weight = typed.weights[i];
      const std::optional<WeightFormat>& format = typed.formats[i];
      sum += format ? bytes_in(*format, weight.elements()) : weight.bytes();
    }
    return sum;
  };
  int64_t sum = bytes(outer_);
  for (const LayerKind& kind : kinds_) {
    const int64_t layers = std::count(kind.members.begin(), kind.members.end(), true);
    const auto* moe = std::get_if<MoeFfn>(&spec_.layers[static_cast<size_t>(kind.first)].ffn);
    sum += bytes(kind.weights) * layers;
    if (moe != nullptr) sum += bytes(kind.expert) * layers * moe->experts;
  }
  return sum;
}

}  // namespace dure
