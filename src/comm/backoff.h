// How a rank waits: it looks again at once for a short while, then lets others run between looks,
// then naps, a little longer each time. Ranks may be more than cores: a waiting rank must not hold
// the core that the rank it waits for needs.
#pragma once

#include <chrono>

namespace dure {

struct WaitPolicy {
  std::chrono::microseconds spin{0};         // looking without pause
  std::chrono::microseconds yield{0};        // then giving the core away between looks
  std::chrono::microseconds longest_nap{0};  // then sleeping, up to this
  int nap_share = 16;                        // a nap is one nap_share-th of the wait so far
};

// Inside a step, where the peers are computing: a nap must stay short beside a layer.
// `crowded`: more ranks on this host than cores for them.
WaitPolicy step_wait_policy(bool crowded);
// Between steps, for seconds or hours.
WaitPolicy idle_wait_policy();

class Backoff {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Backoff(const WaitPolicy& policy)
      : policy_(policy), start_(Clock::now()), now_(start_) {}

  // Spins, yields or naps. With a descriptor (>= 0), a nap ends when it becomes readable. Returns
  // whether it is; only asked once past spinning.
  bool pause(int descriptor = -1);
  Clock::duration waited() const { return now_ - start_; }  // as of the last pause
  bool naps() const { return waited() >= policy_.spin + policy_.yield; }

 private:
  WaitPolicy policy_;
  Clock::time_point start_;
  Clock::time_point now_;
};

// Cores this process may run on.
int available_cores();
// Lets naps of this thread end within a microsecond of their time instead of fifty.
void use_fine_timers();

}  // namespace dure
