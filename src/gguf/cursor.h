// Walks through the bytes of a GGUF header and never beyond the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/header.h"

namespace dure {

class GgufCursor {
 public:
  GgufCursor(const ReadBytes& read, int64_t file_bytes, const std::string& what)
      : read_(read), end_(file_bytes), what_(what) {}

  int64_t position() const { return position_; }

  uint64_t unsigned_integer(int bytes, std::string_view of);  // 1, 2, 4 or 8
  std::string text(std::string_view of, uint64_t most_bytes);

  // `count` things of at least `least_bytes` each are still in the file, and are not more than a
  // header may hold in all. `of` names them.
  void expect(uint64_t count, int64_t least_bytes, std::string_view of);

  [[noreturn]] void fail(std::string_view problem) const;

 private:
  void take(int64_t bytes, void* to, std::string_view of);

  const ReadBytes& read_;
  int64_t end_;
  const std::string& what_;
  int64_t position_ = 0;
  int64_t counted_ = 0;  // entries of all lists
  std::vector<char> window_;
  int64_t window_begin_ = 0;
};

}  // namespace dure
