// How many tokens a GPU engine makes of the memory that its cache gets, and prints at start.
#pragma once

#include <cstdint>

#include "cost/engine_profile.h"
#include "cost/shard.h"

namespace dure {

struct CacheQuestion {
  int64_t pool = 0;  // bytes on this rank
  int64_t element_bytes = 2;
  int64_t max_len = 0;       // tokens of the longest sequence
  int64_t batch_tokens = 0;  // of the largest step
};

struct CacheCapacity {
  int64_t tokens = 0;      // as the engine prints them
  double sequences = 0.0;  // of max_len at once
  // False where nobody has measured how the engine lays these layers out: nothing is said then.
  bool known = true;
};

// Where all layers cache alike, whole pages of tokens. vLLM puts layers of different kinds (all
// keys, a window, a state) into groups of one size that share pages: a page serves one group, so
// tokens are pages over groups. SGLang keeps two pools, in which windowed layers have 0.8 of the
// tokens (0.57 beside compressed keys, of the two rows that were measured), or states 0.9 of the
// memory of keys.
CacheCapacity cache_capacity(const ModelSpec& spec, const EngineProfile& profile,
                             const Layout& layout, const RankShare& share,
                             const CacheQuestion& question);

}  // namespace dure
