// Lines from any thread to a descriptor, written by a thread of its own: a full disk, a closed pipe
// or a reader that stopped reading costs lines, never a request.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace dure {

class LineLog {
 public:
  // The descriptor stays the caller's. `warn` is told once, on the log's thread, when lines begin
  // to be lost and why.
  LineLog(int descriptor, std::function<void(const std::string&)> warn);
  // Writes what can be written at once.
  ~LineLog();

  void add(std::string line);  // without the line's end
  int64_t lost() const;

 private:
  void run();
  bool write_all(const std::string& text);
  bool wait_for_room();
  void lose(int64_t lines, const std::string& why);

  const int descriptor_;
  const std::function<void(const std::string&)> warn_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::string> lines_;
  size_t bytes_ = 0;  // of lines_
  int64_t lost_ = 0;
  bool warned_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace dure
