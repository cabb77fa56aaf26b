// From the metadata of a GGUF file to a ModelSpec. The metadata is translated into the config.json
// that the model was released with, as far as it tells, and read by the same families.
#pragma once

#include "gguf/gguf_model.h"
#include "model/spec.h"

namespace dure {

// Throws bad_input naming file and key: for an unknown architecture, a missing, mistyped or
// out-of-range value, and a setting of the architecture that is not understood.
ModelSpec spec_from_gguf(const GgufModel& model);

}  // namespace dure
