// The "post_processor" of tokenizer.json as far as ids go: the special tokens put before and after
// a single text. TemplateProcessing, ByteLevel (adds none) and sequences; others are refused by
// name.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace dure {

struct AddedAround {
  std::vector<int32_t> before, after;
};

// Throws bad_input naming `what`; ids must be below `vocabulary_size`.
AddedAround parse_post_processor(const Json& component, int32_t vocabulary_size,
                                 std::string_view what);

}  // namespace dure
