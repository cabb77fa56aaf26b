// What one rendering may use: steps, live memory, output, nesting. A template is data from a
// stranger, so each bound turns "runs for ever" or "fills the memory" into an error.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dure::jinja {

struct Limits {
  uint64_t steps = 20'000'000;        // evaluated nodes, items and 64-byte stretches of text
  size_t memory = size_t{512} << 20;  // bytes of values alive at once
  size_t text = size_t{64} << 20;     // bytes of one string, and of the output
  size_t items = 1'000'000;           // items of one list
  int depth = 1200;                   // nested statements, expressions and calls
  int nesting = 200;                  // lists in lists
};

class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits), steps_left_(limits.steps) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  const Limits& limits() const { return limits_; }
  void step(uint64_t count = 1) {
    if (count > steps_left_) out_of_steps();
    steps_left_ -= count;
  }
  // Work on this many bytes of text.
  void step_text(size_t bytes) { step(1 + bytes / 64); }
  // Refuses a string or a list before it is built.
  void check_text(size_t bytes) const;
  void check_items(size_t count) const;
  void hold(size_t bytes);
  void release(size_t bytes) { held_ -= bytes; }

  // One level deeper for as long as it lives.
  class Level {
   public:
    explicit Level(Budget& budget) : budget_(budget) {
      if (++budget_.depth_ > budget_.limits_.depth) {
        --budget_.depth_;
        too_deep();
      }
    }
    ~Level() { --budget_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Budget& budget_;
  };

 private:
  [[noreturn]] static void too_deep();
  [[noreturn]] void out_of_steps() const;

  Limits limits_;
  uint64_t steps_left_;
  size_t held_ = 0;
  int depth_ = 0;
};

}  // namespace dure::jinja
