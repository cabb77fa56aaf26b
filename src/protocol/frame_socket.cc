// See frame_socket.h.
#include "protocol/frame_socket.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace dure {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(std::string_view what, int error_number) {
  throw Error(ErrorCode::failed, fmt::format("{}: {}", what, std::strerror(error_number)));
}

// Until the socket is ready for `events` (hang-ups count: the next call tells which).
void wait_ready(int socket, short events, const Deadline& deadline, std::string_view what) {
  for (;;) {
    int timeout_ms = -1;
    if (deadline) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
      if (left <= 0) throw Error(ErrorCode::failed, fmt::format("{}: deadline passed", what));
      timeout_ms = static_cast<int>(std::min<int64_t>(left, 60'000));
    }
    pollfd watched = {socket, events, 0};
    const int ready = poll(&watched, 1, timeout_ms);
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) fail(what, errno);
  }
}

sockaddr_un address_of(const std::filesystem::path& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string& text = path.native();
  if (text.size() >= sizeof address.sun_path) {
    throw Error(
        ErrorCode::failed,
        fmt::format("socket path {} is longer than {} bytes", text, sizeof address.sun_path - 1),
        "set TMPDIR to a folder with a shorter name");
  }
  std::memcpy(address.sun_path, text.data(), text.size());
  return address;
}

Descriptor new_socket(int flags) {
  Descriptor result(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  if (!result) fail("cannot make a socket", errno);
  return result;
}

}  // namespace

void FrameReader::feed(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (header_bytes_ < sizeof header_) {
      const size_t n = std::min(bytes.size(), sizeof header_ - header_bytes_);
      std::memcpy(header_ + header_bytes_, bytes.data(), n);
      header_bytes_ += n;
      bytes = bytes.subspan(n);
      if (header_bytes_ < sizeof header_) return;
      std::memcpy(&length_, header_, sizeof length_);
      if (length_ == 0 || length_ > limit_) {
        throw Error(ErrorCode::failed,
                    fmt::format("frame of {} bytes: a frame has 1 to {}", length_, limit_));
      }
      continue;
    }
    // The frame grows with what arrives, not by what its header claims.
    const size_t n = std::min<size_t>(bytes.size(), length_ - frame_.size());
    frame_.insert(frame_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(n));
    bytes = bytes.subspan(n);
    if (frame_.size() == length_) {
      whole_.push_back(std::exchange(frame_, {}));
      header_bytes_ = 0;
    }
  }
}

std::optional<Frame> FrameReader::next() {
  if (whole_.empty()) return std::nullopt;
  Frame frame = std::move(whole_.front());
  whole_.pop_front();
  return frame;
}

void send_frame(int socket, std::string_view frame, Deadline deadline) {
  while (!frame.empty()) {
    const ssize_t n = send(socket, frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      frame.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      wait_ready(socket, POLLOUT, deadline, "sending a message");
    } else if (errno != EINTR) {
      fail("sending a message", errno);
    }
  }
}

bool read_available(int socket, FrameReader& reader) {
  std::byte buffer[65536];
  for (;;) {
    const ssize_t n = recv(socket, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n > 0) {
      reader.feed(std::span(buffer, static_cast<size_t>(n)));
      if (static_cast<size_t>(n) < sizeof buffer) return true;
    } else if (n == 0 || errno == ECONNRESET) {
      return false;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return true;
    } else if (errno != EINTR) {
      fail("receiving a message", errno);
    }
  }
}

std::optional<Frame> receive_frame(int socket, FrameReader& reader, Deadline deadline) {
  for (;;) {
    if (auto frame = reader.next()) return frame;
    wait_ready(socket, POLLIN, deadline, "receiving a message");
    if (read_available(socket, reader)) continue;
    if (auto frame = reader.next()) return frame;
    if (!reader.mid_frame()) return std::nullopt;
    throw Error(ErrorCode::failed, "receiving a message: the peer closed in the middle of it");
  }
}

Descriptor listen_at(const std::filesystem::path& path) {
  const sockaddr_un address = address_of(path);
  Descriptor socket = new_socket(SOCK_NONBLOCK);
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(socket.get(), 1) != 0) {
    fail("cannot listen at " + path.string(), errno);
  }
  return socket;
}

Descriptor connect_to(const std::filesystem::path& path) {
  const sockaddr_un address = address_of(path);
  Descriptor socket = new_socket(0);
  while (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno != EINTR) fail("cannot connect to " + path.string(), errno);
  }
  return socket;
}

}  // namespace dure
