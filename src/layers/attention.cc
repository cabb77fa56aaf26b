// See attention.h.
#include "layers/attention.h"

#include "layers/gqa_attention.h"
#include "layers/latent_attention.h"

namespace dure {

std::unique_ptr<Attention> make_attention(const Runtime& runtime, const AttentionSpec& spec,
                                          const LayerWeights& weights) {
  if (const auto* gqa = std::get_if<GqaSpec>(&spec)) {
    return std::make_unique<GqaAttention>(runtime, *gqa, weights.attention);
  }
  return std::make_unique<LatentAttention>(runtime, std::get<MlaSpec>(spec), weights.latent);
}

}  // namespace dure
