// Sets of Unicode characters (never surrogates), as sorted ranges that do not touch.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace dure::grammar {

class CodePoints {
 public:
  struct Range {
    uint32_t low, high;  // inclusive
    bool operator==(const Range&) const = default;
  };

  CodePoints() = default;
  CodePoints(std::initializer_list<Range> ranges);
  static CodePoints one(uint32_t character) { return {{character, character}}; }
  static CodePoints all() { return {{0, 0x10FFFF}}; }

  void add(uint32_t low, uint32_t high);
  void add(const CodePoints& other);
  CodePoints complement() const;
  CodePoints intersection(const CodePoints& other) const;
  void add_other_case();  // of ASCII letters

  bool empty() const { return ranges_.empty(); }
  bool contains(uint32_t character) const;
  // The one character, or none (-1) where there are more or fewer.
  int64_t single() const;
  const std::vector<Range>& ranges() const { return ranges_; }
  bool operator==(const CodePoints&) const = default;

 private:
  std::vector<Range> ranges_;
};

}  // namespace dure::grammar
