// Between a handler that produces an answer on any thread and the connection that sends it: the
// bytes not sent yet, bounded.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>

#include "server/http_message.h"

namespace dure {

struct OutboxOptions {
  bool http_1_1 = true;  // else no chunked coding: the stream ends with the connection
  bool keep_alive = true;
  bool head_only = false;          // the request was HEAD
  size_t max_pending = 512 << 10;  // bytes of a stream the client may be behind
};

class Outbox : public Exchange {
 public:
  // `wake` tells the connection that there is something to take; called from any thread.
  Outbox(const OutboxOptions& options, std::function<void()> wake);

  void reply(HttpResponse response) override;
  void start_stream() override;
  void write(std::string_view bytes) override;
  void finish_stream() override;
  void when_closed(std::function<void()> closed) override;

  // For the connection.
  struct Batch {
    std::string bytes;
    bool done = false;        // nothing comes after these bytes
    bool keep_alive = false;  // valid when done
  };
  Batch take();
  void close();            // the client has gone
  bool is_closed() const;  // it has, or it fell more than max_pending behind

 private:
  void append(std::string_view bytes);

  const OutboxOptions options_;
  const std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::string pending_;
  bool streaming_ = false;
  bool done_ = false;
  bool closed_ = false;
  std::function<void()> when_closed_;
};

}  // namespace dure
