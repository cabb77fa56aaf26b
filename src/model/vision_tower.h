// The image encoder beside a language model, by size alone: planned, never run.
#pragma once

#include <cstdint>

#include "base/json.h"

namespace dure {

// Parameters of a vision_config's transformer and of what leads from it into the language model, as
// the config states them; 0 where there is none. Within some per cent for encoders of other builds.
int64_t vision_parameters(const Json& config);

}  // namespace dure
