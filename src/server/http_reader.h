// Cuts the bytes of one connection into requests. Strict, bounded, and without a socket, so that
// tests and the fuzzer see exactly what a connection sees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/chunk_decoder.h"
#include "server/api_errors.h"
#include "server/http_message.h"

namespace dure {

struct RequestLimits {
  size_t max_header_bytes = 16 << 10;
  uint64_t max_body_bytes = 8 << 20;
};

struct ReadRequest {
  HttpRequest request;
  bool http_1_1 = true;
  bool keep_alive = true;
  bool head_only = false;  // HEAD, which the handler sees as GET
};

class RequestReader {
 public:
  enum class State {
    idle,     // between requests
    head,     // in the middle of one
    body,     // its head is read
    whole,    // take() it
    refused,  // the bytes are no request that this server takes: refusal(), and nothing after it
  };

  explicit RequestReader(const RequestLimits& limits) : limits_(limits) {}

  // Bytes as they come, in any pieces. Those after a whole request are kept for the next one.
  void feed(std::string_view bytes);
  State state() const { return state_; }
  // The client will send the body only when told to "100 Continue". True once.
  bool wants_continue();
  size_t bytes_held() const;  // of the request so far
  ReadRequest take();
  const ApiError& refusal() const { return refusal_; }

 private:
  void advance();
  bool find_end_of_head();
  void begin_request();
  void read_body();
  void refuse(int status, const std::string& what);
  void refuse_body();

  const RequestLimits limits_;
  State state_ = State::idle;
  std::string unread_;
  size_t scanned_ = 0;  // bytes of unread_ that were looked at for the end of the head
  size_t line_ = 0;     // where the line being scanned begins
  int lines_ = 0;       // ended so far
  bool wants_continue_ = false;
  std::optional<ChunkDecoder> chunks_;  // none: the body has a length
  uint64_t body_left_ = 0;
  ReadRequest made_;
  ApiError refusal_;
};

}  // namespace dure
