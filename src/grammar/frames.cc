// See frames.h.
#include "grammar/frames.h"

#include <algorithm>
#include <bit>

namespace dure::grammar {
namespace {

uint64_t hash_of(const Frame& frame) {
  uint64_t hash = frame.parent;
  for (const uint32_t part : {frame.call, frame.low, frame.high}) {
    hash = (hash ^ part) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace

Frames::Frames() : frames_{{bottom, none, 0, 0, 0}}, slots_(16, 0) {}

size_t Frames::bytes() const {
  return frames_.capacity() * sizeof(Frame) + slots_.size() * sizeof(uint32_t);
}

size_t Frames::slot_of(const Frame& frame) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash_of(frame) & mask;
  while (slots_[slot] != 0 && !(frames_[slots_[slot]] == frame)) slot = (slot + 1) & mask;
  return slot;
}

void Frames::grow() {
  slots_.assign(slots_.size() * 2, 0);
  for (uint32_t id = 1; id < frames_.size(); ++id) slots_[slot_of(frames_[id])] = id;
}

uint32_t Frames::push(uint32_t parent, uint32_t call, uint32_t low, uint32_t high) {
  const Frame frame{parent, call, low, high, frames_[parent].depth + 1};
  const size_t slot = slot_of(frame);
  if (slots_[slot] != 0) return slots_[slot];
  const auto id = static_cast<uint32_t>(frames_.size());
  frames_.push_back(frame);
  slots_[slot] = id;
  if (frames_.size() * 2 > slots_.size()) grow();
  return id;
}

void Frames::keep_only(std::vector<Config>& items, size_t most) {
  std::vector<bool> kept(frames_.size(), false);
  kept[bottom] = true;
  size_t count = 1;
  size_t taken = 0;
  std::vector<uint32_t> path;
  for (; taken < items.size(); ++taken) {
    path.clear();
    for (uint32_t id = items[taken].frame; !kept[id]; id = frames_[id].parent) path.push_back(id);
    if (count + path.size() > most) break;
    count += path.size();
    for (const uint32_t id : path) kept[id] = true;
  }
  items.resize(taken);

  // Parents come before their children, so one pass renames all.
  std::vector<uint32_t> renamed(frames_.size(), 0);
  std::vector<Frame> old;
  old.reserve(count);
  for (uint32_t id = 0; id < frames_.size(); ++id) {
    if (!kept[id]) continue;
    renamed[id] = static_cast<uint32_t>(old.size());
    old.push_back(frames_[id]);
    old.back().parent = renamed[frames_[id].parent];
  }
  frames_ = std::move(old);
  slots_.assign(std::bit_ceil(std::max<size_t>(16, frames_.size() * 2)), 0);
  for (uint32_t id = 1; id < frames_.size(); ++id) slots_[slot_of(frames_[id])] = id;
  for (Config& item : items) item.frame = renamed[item.frame];
  std::ranges::sort(items);
}

}  // namespace dure::grammar
