// See line_log.h.
#include "server/line_log.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace dure {
namespace {

constexpr size_t most_waiting = size_t{1} << 20;  // bytes
constexpr int poll_ms = 100;

}  // namespace

LineLog::LineLog(int descriptor, std::function<void(const std::string&)> warn)
    : descriptor_(descriptor), warn_(std::move(warn)), thread_([this] { run(); }) {}

LineLog::~LineLog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  arrived_.notify_all();
  thread_.join();
}

void LineLog::add(std::string line) {
  line += '\n';
  {
    const std::lock_guard lock(mutex_);
    if (bytes_ + line.size() > most_waiting) {
      ++lost_;
      return;
    }
    bytes_ += line.size();
    lines_.push_back(std::move(line));
  }
  arrived_.notify_one();
}

int64_t LineLog::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

void LineLog::lose(int64_t lines, const std::string& why) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    lost_ += lines;
    first = !std::exchange(warned_, true);
  }
  if (first && warn_) warn_("lines of the log are lost: " + why);
}

void LineLog::run() {
  for (;;) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return stopping_ || !lines_.empty(); });
    if (lines_.empty()) return;
    const std::string line = std::move(lines_.front());
    lines_.pop_front();
    lock.unlock();
    const bool written = write_all(line);
    lock.lock();
    bytes_ -= line.size();
    if (stopping_ && !written) return;
  }
}

// False when the log is being stopped and nobody reads.
bool LineLog::wait_for_room() {
  for (bool said = false;;) {
    pollfd wanted{descriptor_, POLLOUT, 0};
    if (::poll(&wanted, 1, poll_ms) != 0) return true;  // room, or an error that write() will tell
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return false;
    }
    if (!said) lose(0, "nobody reads them");
    said = true;
  }
}

bool LineLog::write_all(const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    if (!wait_for_room()) return false;
    const ssize_t wrote = ::write(descriptor_, text.data() + done, text.size() - done);
    if (wrote > 0) {
      done += static_cast<size_t>(wrote);
    } else if (wrote < 0 && errno != EINTR && errno != EAGAIN) {
      lose(1, std::strerror(errno));
      return false;
    }
  }
  return true;
}

}  // namespace dure
