// An HTTP/1.1 answer, as bytes come (RFC 9112), for clients. Takes what servers of the wild send
// and refuses what has no one meaning; nothing that a server sends can do worse than that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/chunk_decoder.h"

namespace dure {

struct HttpAnswerHead {
  int status = 0;
  std::string content_type;    // "" where there is none
  double retry_after_s = 0.0;  // 0: not said, or not in seconds
};

class HttpAnswerReader {
 public:
  enum class State { head, body, done, cut, broken };

  // Takes more of the answer and appends what is its body to `body`. An interim answer (100
  // Continue) is passed over. Bytes after the end are dropped, and the connection is of no more
  // use.
  void feed(std::string_view bytes, std::string& body);
  // The server closed the connection: the end of an answer that says no other, else it is cut.
  void close();

  State state() const { return state_; }
  bool has_head() const { return has_head_; }
  const HttpAnswerHead& head() const { return head_; }  // once has_head()
  // Whether the connection can carry another request, once done.
  bool keeps_connection() const { return keeps_connection_; }
  const std::string& fault() const { return fault_; }  // once broken

 private:
  struct Framing {
    std::optional<uint64_t> length;
    bool chunked = false;
  };

  std::string_view take_head(std::string_view bytes);
  void read_head(std::string_view head);
  bool read_status_line(std::string_view line);
  void read_field(std::string_view line, Framing& framing);
  void begin_body(const Framing& framing);
  std::string_view take_body(std::string_view bytes, std::string& body);
  void fail(std::string fault);

  State state_ = State::head;
  std::string received_;  // of the head
  HttpAnswerHead head_;
  bool has_head_ = false;
  bool keeps_connection_ = true;
  std::optional<ChunkDecoder> chunks_;
  std::optional<uint64_t> left_;  // bytes; none, and no chunks: up to the end of the connection
  std::string fault_;
};

}  // namespace dure
