// The rotary settings of GGUF metadata.
#pragma once

#include "model/gguf/translator.h"

namespace dure {

struct GgufRope {
  bool truncate = true;  // the yarn ramp of this architecture is rounded to whole dimensions
  bool latent = false;   // yarn_log_multiplier sharpens attention, cos and sin stay as they are
};

// rope.freq_base, rope.scaling.* and what they are in config.json; rope.dimension_count must be
// `dims`.
void translate_rope(GgufTranslator& file, int64_t dims, const GgufRope& kind);

}  // namespace dure
