// Numbers that follow each other.
#pragma once

#include <cstdint>

namespace dure {

struct Range {  // half open
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

// The units of so many that hold a part of it; of nothing none.
inline Range in_units(Range range, int64_t unit) {
  const int64_t first = range.begin / unit;
  return {first, range.size() == 0 ? first : (range.end + unit - 1) / unit};
}

}  // namespace dure
