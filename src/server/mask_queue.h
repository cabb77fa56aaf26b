// The masks that are to be made and whose turn it is: pure logic, without threads or a clock.
//
// The rule: of the grammars that wait, the one for which the least time was spent so far goes
// first (a newcomer begins level with the others), and no grammar has all workers at once. So a
// grammar whose masks take long waits for itself, and the others only for one of its masks.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "server/generation.h"

namespace dure {

struct MaskJob {
  uint64_t sequence = 0;
  std::shared_ptr<TokenConstraint> constraint;
};

class MaskQueue {
 public:
  explicit MaskQueue(int workers);

  void push(MaskJob job);
  // What a worker that is free may do now, if anything.
  std::optional<MaskJob> take();
  // A job that was taken is done. `seconds`: it took.
  void done(const MaskJob& job, double seconds);

 private:
  struct Line {
    std::deque<MaskJob> jobs;
    int running = 0;
    double spent = 0.0;  // seconds
    bool busy() const { return running > 0 || !jobs.empty(); }
  };
  // By what constraints of one grammar have in common, which need not live any more.
  using Lines = std::map<std::weak_ptr<const void>, Line, std::owner_less<>>;

  void forget_idle();

  const int most_of_one_;
  Lines lines_;
};

}  // namespace dure
