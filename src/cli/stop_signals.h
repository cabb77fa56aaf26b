// SIGINT and SIGTERM as calls on an ordinary thread, so that stopping may take locks and wait.
#pragma once

#include <functional>
#include <thread>

namespace dure {

class StopSignals {
 public:
  // `on_signal` gets 1 for the first signal, 2 for the second and so on. One object at a time.
  explicit StopSignals(std::function<void(int count)> on_signal);
  ~StopSignals();  // back to the default action
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  std::thread thread_;
};

}  // namespace dure
