// Linear probing with XXH3, inlined from the header of libxxhash.
#include "text/string_index.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>

namespace dure {

StringIndex::StringIndex(size_t expected) : slots_(std::bit_ceil(2 * expected + 2)) {}

size_t StringIndex::slot_of(std::string_view text) const {
  const size_t mask = slots_.size() - 1;
  size_t at = XXH3_64bits(text.data(), text.size()) & mask;
  while (slots_[at].id >= 0 && std::string_view(slots_[at].text, slots_[at].length) != text)
    at = (at + 1) & mask;
  return at;
}

bool StringIndex::insert(std::string_view text, int32_t id) {
  if (2 * (size_ + 1) > slots_.size()) grow();
  Slot& slot = slots_[slot_of(text)];
  if (slot.id >= 0) return false;
  slot = {text.data(), static_cast<uint32_t>(text.size()), id};
  ++size_;
  return true;
}

int32_t StringIndex::find(std::string_view text) const {
  return slots_[slot_of(text)].id;
}

void StringIndex::grow() {
  std::vector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  for (const Slot& slot : old)
    if (slot.id >= 0) slots_[slot_of({slot.text, slot.length})] = slot;
}

}  // namespace dure
