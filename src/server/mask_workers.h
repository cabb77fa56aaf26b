// Threads that make the masks which take longer than the engine's thread has time for.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/error.h"
#include "server/mask_queue.h"

namespace dure {

struct MaskReady {
  uint64_t sequence = 0;
  std::vector<uint64_t> mask;  // as Slice::mask
  std::optional<Error> error;  // instead of it
};

class MaskWorkers {
 public:
  // `on_ready` is called on the workers' threads.
  MaskWorkers(int threads, std::function<void(MaskReady)> on_ready);
  // Waits for the masks under way, forgets the others.
  ~MaskWorkers();

  // Nobody else touches its constraint until it is ready.
  void ask(MaskJob job);

 private:
  void run();

  const std::function<void(MaskReady)> on_ready_;
  std::mutex mutex_;
  std::condition_variable changed_;
  MaskQueue queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace dure
