// A fixed map from strings to ids: the vocabulary. Open addressing over string views; the strings
// are owned by whoever builds it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace dure {

class StringIndex {
 public:
  explicit StringIndex(size_t expected = 0);

  // False if the string is there already.
  bool insert(std::string_view text, int32_t id);
  // The id, or -1.
  int32_t find(std::string_view text) const;
  size_t size() const { return size_; }

 private:
  struct Slot {
    const char* text = nullptr;
    uint32_t length = 0;
    int32_t id = -1;  // -1: free
  };
  void grow();
  size_t slot_of(std::string_view text) const;  // where it is, or would be put

  std::vector<Slot> slots_;  // a power of two of them, at most half full
  size_t size_ = 0;
};

}  // namespace dure
