// What a GPU engine's largest step has allocated at its peak, from the operations of the model's
// layers: engines run such a step at start, and give the cache what it leaves.
#pragma once

#include <cstdint>

#include "cost/engine_profile.h"
#include "cost/shard.h"

namespace dure {

// Bytes. `tokens` of a step, `element_bytes` of the engine's activations.
struct ActivationPeak {
  int64_t layers = 0;   // the widest moment within a layer
  int64_t sampler = 0;  // logits and what is made of them, where the rank has the head
  int64_t most() const { return layers > sampler ? layers : sampler; }
};

ActivationPeak activation_peak(const ModelSpec& spec, const EngineProfile& profile,
                               const Layout& layout, const RankShare& share, int64_t tokens,
                               int64_t element_bytes);

}  // namespace dure
