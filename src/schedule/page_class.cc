// See page_class.h.
#include "schedule/page_class.h"

#include <algorithm>
#include <limits>

namespace dure {

int64_t PageClass::first_block(int64_t position, int64_t page_tokens) const {
  return reach == 0 ? 0 : std::max<int64_t>(position - reach + 1, 0) / page_tokens;
}

int64_t PageClass::most_blocks(int64_t page_tokens, int64_t chunk) const {
  if (reach == 0) return std::numeric_limits<int32_t>::max();
  // Of the keys before the chunk and those of it, the first may be the last of its block.
  const int64_t tokens = reach - 1 + chunk;
  return (tokens + page_tokens - 2) / page_tokens + 1;
}

int64_t pages_of_sequence(std::span<const PageClass> classes, int64_t tokens, int64_t page_tokens,
                          int64_t chunk) {
  const int64_t blocks = (tokens + page_tokens - 1) / page_tokens;
  int64_t pages = 0;
  for (const PageClass& each : classes) {
    pages += each.tables * std::min(blocks, each.most_blocks(page_tokens, chunk));
  }
  return pages;
}

int64_t longest_held(std::span<const PageClass> classes, int64_t pages, int64_t page_tokens,
                     int64_t chunk) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  int64_t held = 0;
  int64_t beyond = most / page_tokens + 1;  // blocks; more than anybody has
  while (beyond - held > 1) {
    const int64_t middle = held + (beyond - held) / 2;
    const bool fits = pages_of_sequence(classes, middle * page_tokens, page_tokens, chunk) <= pages;
    (fits ? held : beyond) = middle;
  }
  return held * page_tokens;
}

}  // namespace dure
