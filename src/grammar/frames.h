// The stacks of all parses of one text at once: frames that share their tails (Tomita's
// graph-structured stack, "Efficient Parsing for Natural Language", 1985).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grammar/automaton.h"

namespace dure::grammar {

// A call that is being read.
struct Frame {
  uint32_t parent;     // the frame of the rule that called
  uint32_t call;       // Automaton::call
  uint32_t low, high;  // how often it still has to and may be read, with the reading at hand
  uint32_t depth;      // frames below

  bool operator==(const Frame&) const = default;
};

// Where one parse is: in a state of the automaton, on top of a stack.
struct Config {
  StateId state;
  uint32_t frame;

  auto operator<=>(const Config&) const = default;  // NOLINT(modernize-use-nullptr)
};

// All parses of the text so far, each once.
struct Configs {
  std::vector<Config> items;  // those that can read on
  bool finished = false;      // one of them ended here: the bottom frame's rule is complete
};

// Equal stacks have equal ids.
class Frames {
 public:
  static constexpr uint32_t bottom = 0;

  Frames();
  uint32_t push(uint32_t parent, uint32_t call, uint32_t low, uint32_t high);
  const Frame& operator[](uint32_t id) const { return frames_[id]; }
  size_t size() const { return frames_.size(); }
  size_t bytes() const;

  // Forgets all frames but those under `items`, whose ids it changes. Items that would need more
  // than `most` frames in all are dropped, from the end.
  void keep_only(std::vector<Config>& items, size_t most);

 private:
  size_t slot_of(const Frame& frame) const;
  void grow();

  std::vector<Frame> frames_;
  std::vector<uint32_t> slots_;  // open addressing; 0 is free. Its size is a power of two
};

}  // namespace dure::grammar
