// See attention.h.
#include "layers/attention.h"

#include "layers/delta_net.h"
#include "layers/gqa_attention.h"
#include "layers/latent_attention.h"
#include "layers/mamba2.h"

namespace dure {

std::unique_ptr<Attention> make_attention(const Runtime& runtime, const AttentionSpec& spec,
                                          const LayerWeights& weights) {
  if (const auto* gqa = std::get_if<GqaSpec>(&spec)) {
    return std::make_unique<GqaAttention>(runtime, *gqa, weights.attention);
  }
  if (const auto* delta = std::get_if<DeltaNetSpec>(&spec)) {
    return std::make_unique<DeltaNet>(runtime, *delta, weights.state);
  }
  if (const auto* mamba = std::get_if<Mamba2Spec>(&spec)) {
    return std::make_unique<Mamba2>(runtime, *mamba, weights.state);
  }
  if (std::holds_alternative<std::monostate>(spec)) return nullptr;
  return std::make_unique<LatentAttention>(runtime, std::get<MlaSpec>(spec), weights.latent);
}

}  // namespace dure
