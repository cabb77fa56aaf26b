// See code_points.h.
#include "grammar/code_points.h"

#include <algorithm>
#include <string>

namespace dure::grammar {
namespace {

constexpr uint32_t first_surrogate = 0xD800, last_surrogate = 0xDFFF, last_character = 0x10FFFF;

}  // namespace

CodePoints::CodePoints(std::initializer_list<Range> ranges) {
  for (const Range& range : ranges) add(range.low, range.high);
}

void CodePoints::add(uint32_t low, uint32_t high) {
  high = std::min(high, last_character);
  if (low > high) return;
  if (low <= last_surrogate && high >= first_surrogate) {  // cut the surrogates out
    if (low < first_surrogate) add(low, first_surrogate - 1);
    if (high > last_surrogate) add(last_surrogate + 1, high);
    return;
  }
  // All ranges that overlap or touch the new one become one with it.
  auto begin = std::ranges::lower_bound(ranges_, low, {}, [](const Range& r) {
    return r.high == last_character ? r.high : r.high + 1;
  });
  auto end = begin;
  while (end != ranges_.end() && end->low <= high + 1) {
    low = std::min(low, end->low);
    high = std::max(high, end->high);
    ++end;
  }
  if (begin == end) {
    ranges_.insert(begin, {low, high});
  } else {
    *begin = {low, high};
    ranges_.erase(begin + 1, end);
  }
}

void CodePoints::add(const CodePoints& other) {
  for (const Range& range : other.ranges_) add(range.low, range.high);
}

CodePoints CodePoints::complement() const {
  CodePoints out;
  uint32_t next = 0;
  for (const Range& range : ranges_) {
    if (range.low > next) out.add(next, range.low - 1);
    next = range.high + 1;
  }
  if (next <= last_character) out.add(next, last_character);
  return out;
}

CodePoints CodePoints::intersection(const CodePoints& other) const {
  CodePoints either = complement();
  either.add(other.complement());
  return either.complement();
}

void CodePoints::add_other_case() {
  const std::vector<Range> before = ranges_;
  for (const Range& range : before) {
    const auto shifted = [&](uint32_t first, uint32_t last, uint32_t to) {
      const uint32_t low = std::max(range.low, first), high = std::min(range.high, last);
      if (low <= high) add(low - first + to, high - first + to);
    };
    shifted('a', 'z', 'A');
    shifted('A', 'Z', 'a');
  }
}

bool CodePoints::contains(uint32_t character) const {
  const auto at = std::ranges::lower_bound(ranges_, character, {}, &Range::high);
  return at != ranges_.end() && at->low <= character;
}

int64_t CodePoints::single() const {
  if (ranges_.size() != 1 || ranges_[0].low != ranges_[0].high) return -1;
  return ranges_[0].low;
}

}  // namespace dure::grammar
