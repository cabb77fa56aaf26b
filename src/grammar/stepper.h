// Runs an automaton over bytes, all parses side by side: from the configurations before a byte to
// those after it, in time that is bounded by the limits whatever the grammar.
#pragma once

#include <cstdint>
#include <vector>

#include "grammar/automaton.h"
#include "grammar/frames.h"

namespace dure::grammar {

// Holds working memory; not for several threads at once.
class Stepper {
 public:
  explicit Stepper(const Automaton& automaton);

  // `room`: how deep the stack may become. Only configurations that can still end within it are
  // kept, so no parse ever runs into a wall.
  void start(Frames& frames, uint32_t room, Configs& out);
  // Whether any parse goes on or ends with the byte.
  bool step(Frames& frames, uint32_t room, const Configs& from, uint8_t byte, Configs& out);
  // What follows once the rule of `frame` is complete.
  void leave(Frames& frames, uint32_t room, uint32_t frame, Configs& out);

  uint64_t work() const { return work_; }  // visits so far
  // The least room with which the last step would have come out the same, if it had enough.
  uint32_t need() const { return need_; }

 private:
  struct Visit {
    StateId state;
    uint32_t frame;
    bool fresh;  // nothing was read yet since the frame was pushed
  };

  void begin(Frames& frames, uint32_t room, Configs& out);
  void finish();
  bool fits(uint32_t frame, uint32_t height);
  void add(StateId state, uint32_t frame, bool fresh);
  void close();
  void visit(const Visit& visit);
  void enter(const Call& call, uint32_t id, const Visit& from);
  void complete(uint32_t frame);
  bool first_time(uint64_t key);

  const Automaton& automaton_;
  Frames* frames_ = nullptr;
  Configs* out_ = nullptr;
  uint32_t room_ = 0;
  uint32_t need_ = 0;
  uint64_t work_ = 0;
  size_t visits_ = 0;  // of this step
  std::vector<Visit> open_;
  std::vector<uint64_t> seen_;  // open addressing: visits of this step, as key and epoch
  std::vector<uint32_t> epochs_;
  uint32_t epoch_ = 0;
};

}  // namespace dure::grammar
