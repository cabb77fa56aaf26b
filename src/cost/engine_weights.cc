// See engine_weights.h.
#include "cost/engine_weights.h"

#include <algorithm>
#include <vector>

#include "cost/most_bytes.h"

namespace dure {
namespace {

constexpr int64_t mib = int64_t{1} << 20;

int64_t in_steps_of(int64_t value, int64_t step) {
  return (value + step - 1) / step * step;
}

bool is_expert(Slot slot) {
  return slot == Slot::expert_gate_up || slot == Slot::expert_down ||
         slot == Slot::expert_gate_bias || slot == Slot::expert_up_bias;
}

// Kernels for experts of 4 bits want the hidden width in whole blocks of 256 and theirs in 128.
double expert_padding(const MemoryModel& model, const Layout& layout) {
  if (!model.format() || model.format()->name != "mxfp4") return 1.0;
  const auto padding = [](int64_t width, int64_t block) {
    return static_cast<double>(in_steps_of(width, block)) / static_cast<double>(width);
  };
  for (const LayerSpec& layer : model.spec().layers) {
    const auto* moe = std::get_if<MoeFfn>(&layer.ffn);
    if (moe == nullptr) continue;
    const int64_t inner = (moe->intermediate + layout.etp() - 1) / layout.etp();
    return padding(model.spec().hidden, 256) * padding(inner, 128);
  }
  return 1.0;
}

// Each distinct rotation has a table of cosines and sines over all positions, that layers share.
int64_t rope_bytes(const ModelSpec& spec, const RankShare& share, int64_t element_bytes) {
  std::vector<RopeSpec> seen;
  int64_t bytes = 0;
  const auto add = [&](const RopeSpec& rope) {
    if (rope.kind == RopeKind::none || std::find(seen.begin(), seen.end(), rope) != seen.end()) {
      return;
    }
    seen.push_back(rope);
    // Positions divided by a factor reach that much further than the context that the file states.
    const double factor = rope.kind == RopeKind::linear ? rope.factor : 1.0;
    constexpr auto most = static_cast<double>(most_bytes);
    const auto positions =
        static_cast<int64_t>(std::min(static_cast<double>(spec.context) * factor, most));
    bytes = bounded_sum(bytes, bounded_product(positions, rope.dims * element_bytes));
  };
  for (int64_t i = share.layers.begin; i < share.layers.end; ++i) {
    const AttentionSpec& attention = spec.layers[static_cast<size_t>(i)].attention;
    if (const auto* gqa = std::get_if<GqaSpec>(&attention)) add(gqa->rope);
    if (const auto* mla = std::get_if<MlaSpec>(&attention)) add(mla->rope);
    if (const auto* compressed = std::get_if<CompressedSpec>(&attention)) add(compressed->rope);
  }
  return bytes;
}

// Beside the matrix that makes keys and values of the latent vector, engines keep its two halves in
// the form that decoding multiplies with, unquantized.
int64_t absorbed_bytes(const ModelSpec& spec, const Layout& layout, const RankShare& share) {
  constexpr int64_t bf16_bytes = 2;
  int64_t bytes = 0;
  for (int64_t i = share.layers.begin; i < share.layers.end; ++i) {
    const AttentionSpec& attention = spec.layers[static_cast<size_t>(i)].attention;
    const auto* mla = std::get_if<MlaSpec>(&attention);
    if (mla == nullptr) continue;
    const int64_t heads = heads_of(*mla, layout.tp, share.place.tp).q.size();
    bytes += heads * (mla->nope_dim + mla->v_dim) * mla->kv_rank * bf16_bytes;
  }
  return bytes;
}

}  // namespace

int64_t allocated_bytes(int64_t bytes) {
  constexpr int64_t smallest = 512;
  const int64_t exact = in_steps_of(bytes, smallest);
  if (exact < 10 * mib) return exact;
  const int64_t segment = in_steps_of(exact, 2 * mib);
  return segment - exact > mib ? exact : segment;
}

WeightKinds engine_weight_kinds(const MemoryModel& model, const EngineProfile& profile,
                                const Layout& layout, int rank, int64_t element_bytes) {
  const ModelSpec& spec = model.spec();
  const RankShare share = share_of(spec, layout, rank);
  const double padding = profile.engine == Engine::vllm ? expert_padding(model, layout) : 1.0;
  const bool one_table = spec.tied_embeddings && share.first_stage && share.last_stage;
  WeightKinds kinds;
  for (const HeldTensor& each :
       model.held(layout, rank, element_bytes == 4 ? Compute::fp32 : Compute::bf16)) {
    if (each.slot == Slot::head && one_table) continue;
    int64_t size = each.payload * each.experts;
    if (is_expert(each.slot)) size = static_cast<int64_t>(static_cast<double>(size) * padding);
    kinds.of(each.slot) += each.layers * allocated_bytes(size);
  }
  kinds.attention += absorbed_bytes(spec, layout, share);
  kinds.other += spec.vision_parameters * element_bytes / layout.tp;
  kinds.other = bounded_sum(kinds.other, rope_bytes(spec, share, element_bytes));
  return kinds;
}

int64_t engine_weights(const MemoryModel& model, const EngineProfile& profile, const Layout& layout,
                       int rank, int64_t element_bytes) {
  return engine_weight_kinds(model, profile, layout, rank, element_bytes).total();
}

}  // namespace dure
