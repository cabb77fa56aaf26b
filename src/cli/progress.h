// A progress bar on stderr, for loading: bytes done, speed and time left. Prints nothing where
// stderr is not a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace dure {

class Progress {
 public:
  explicit Progress(std::string what);  // "loading"
  ~Progress();                          // clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(int64_t bytes_done, int64_t bytes_total);

 private:
  std::string what_;
  bool visible_ = false;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point start_;
};

// "loading ███████░░░░░  58%  7.1 GiB of 12.2 GiB, 1.4 GiB/s, 4 s left", cut to `columns`.
std::string progress_line(const std::string& what, int64_t bytes_done, int64_t bytes_total,
                          double seconds, int columns);

}  // namespace dure
