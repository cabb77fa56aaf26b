// See call_ids.h.
#include "dialogue/call_ids.h"

#include <fmt/format.h>

#include "text/letter_hash.h"

namespace dure::dialogue {
CallIds::CallIds(std::string_view seed, Style style) : seed_(seed), style_(style) {}

std::string CallIds::id(int index) const {
  const std::string seed = fmt::format("{}/{}", seed_, index);
  return style_ == Style::nine_letters ? letter_hash(seed, 9) : "call_" + letter_hash(seed, 24);
}

}  // namespace dure::dialogue
