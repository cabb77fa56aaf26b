// Which keys a query sees, for all CPU backends.
#pragma once

#include <algorithm>

#include "kernels/backend.h"

namespace dure {

// The first key that the query at `position` sees; the last is its own.
inline int64_t first_key(const AttentionShape& shape, int64_t position) {
  int64_t first = 0;
  if (shape.window > 0) first = std::max(position + 1 - shape.window, first);
  if (shape.chunk > 0) first = std::max(position / shape.chunk * shape.chunk, first);
  return first;
}

}  // namespace dure
