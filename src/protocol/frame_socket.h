// Frames over a stream socket, as both the front and rank 0 use them: an incremental reader that
// takes bytes as they come, and calls that wait with a deadline. What is in a frame: messages.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "protocol/messages.h"

namespace dure {

using Frame = std::vector<std::byte>;  // kind and payload, without the length

class FrameReader {
 public:
  // Frames longer than `limit` bytes are refused before anything is allocated for them.
  explicit FrameReader(uint32_t limit = max_frame_bytes) : limit_(limit) {}

  // Any piece of the stream. Throws failed for a frame of no bytes or of more than the limit; the
  // stream cannot be read on after that.
  void feed(std::span<const std::byte> bytes);
  std::optional<Frame> next();  // frames in order, as far as they are whole
  bool mid_frame() const { return header_bytes_ > 0; }

 private:
  uint32_t limit_;
  std::byte header_[sizeof(uint32_t)] = {};
  size_t header_bytes_ = 0;
  uint32_t length_ = 0;  // of `frame_`, once the header is whole
  Frame frame_;
  std::deque<Frame> whole_;
};

// No value: waits for ever.
using Deadline = std::optional<std::chrono::steady_clock::time_point>;

// Writes a whole encoded frame; works on blocking and non-blocking sockets, raises no SIGPIPE.
// Throws failed when the peer is gone or the deadline passes.
void send_frame(int socket, std::string_view frame, Deadline deadline = {});

// The next frame, or nullopt when the peer closed the stream between frames. Throws failed when it
// closed within one, and when the deadline passes.
std::optional<Frame> receive_frame(int socket, FrameReader& reader, Deadline deadline = {});

// Feeds what has arrived without waiting. False: the peer closed the stream.
bool read_available(int socket, FrameReader& reader);

// A stream socket at a path of the file system. Throws failed naming the path.
Descriptor listen_at(const std::filesystem::path& path);   // non-blocking, backlog 1
Descriptor connect_to(const std::filesystem::path& path);  // blocking

}  // namespace dure
