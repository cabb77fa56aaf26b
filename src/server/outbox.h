// Between a handler that produces an answer on any thread and the connection that sends it: the
// bytes not sent yet, bounded.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "server/http_message.h"
#include "server/shared_bytes.h"

namespace dure {

struct OutboxOptions {
  bool http_1_1 = true;  // else no chunked coding: the stream ends with the connection
  bool keep_alive = true;
  bool head_only = false;          // the request was HEAD
  size_t max_pending = 512 << 10;  // bytes of a stream the client may be behind
  std::string headers{};           // whole lines, of every answer
};

class Outbox : public Exchange {
 public:
  // `wake` tells the connection that there is something to take, or that the outbox was closed;
  // called from any thread. `unsent` bounds what all outboxes of a server hold.
  Outbox(OutboxOptions options, std::shared_ptr<SharedBytes> unsent, std::function<void()> wake);

  void reply(HttpResponse response) override;
  void start_stream() override;
  void write(std::string_view bytes) override;
  void finish_stream() override;
  void when_closed(std::function<void()> closed) override;
  bool is_closed() const override;  // the client has gone, or fell too far behind

  // For the connection.
  struct Batch {
    std::string bytes;
    bool done = false;        // nothing comes after these bytes
    bool keep_alive = false;  // valid when done
  };
  Batch take();  // the batch before has been sent
  void close();  // the client has gone
  bool fell_behind() const;
  int status() const;  // of the answer; 0: there is none yet

 private:
  bool append(std::string_view bytes);  // false: that is more than may wait
  void end_with(HttpResponse response);

  const OutboxOptions options_;
  const std::function<void()> wake_;
  mutable std::mutex mutex_;
  SharedBytes::Part unsent_;
  std::string pending_;
  size_t taken_ = 0;  // bytes of the batch that is being sent
  int status_ = 0;
  bool fell_behind_ = false;
  bool streaming_ = false;
  bool done_ = false;
  bool closed_ = false;
  std::function<void()> when_closed_;
};

}  // namespace dure
