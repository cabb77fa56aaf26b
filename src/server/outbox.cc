// See outbox.h. Callbacks are never called with the mutex held.
#include "server/outbox.h"

#include "base/error.h"
#include "server/http_format.h"

namespace dure {

Outbox::Outbox(const OutboxOptions& options, std::function<void()> wake)
    : options_(options), wake_(std::move(wake)) {}

void Outbox::reply(HttpResponse response) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    DURE_CHECK(!streaming_ && !done_);
    pending_ = response_head(response, options_.keep_alive);
    if (!options_.head_only) pending_ += response.body;
    done_ = true;
  }
  wake_();
}

void Outbox::start_stream() {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  DURE_CHECK(!streaming_ && !done_);
  streaming_ = true;
  pending_ = stream_head(options_.http_1_1, options_.keep_alive);
}

void Outbox::write(std::string_view bytes) {
  bool overflow = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || bytes.empty()) return;
    DURE_CHECK(streaming_ && !done_);
    overflow = pending_.size() + bytes.size() > options_.max_pending;
    if (!overflow) append(bytes);
  }
  if (overflow) close();
  wake_();
}

void Outbox::finish_stream() {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    DURE_CHECK(streaming_ && !done_);
    if (options_.http_1_1) pending_ += last_chunk;
    done_ = true;
  }
  wake_();
}

void Outbox::append(std::string_view bytes) {
  if (options_.http_1_1) {
    pending_ += chunk(bytes);
  } else {
    pending_ += bytes;
  }
}

void Outbox::when_closed(std::function<void()> closed) {
  {
    const std::lock_guard lock(mutex_);
    if (!closed_) {
      when_closed_ = std::move(closed);
      return;
    }
  }
  closed();
}

Outbox::Batch Outbox::take() {
  Batch batch;
  std::function<void()> forgotten;  // destroyed outside the lock: it may hold the last of a request
  const std::lock_guard lock(mutex_);
  batch.bytes = std::move(pending_);
  pending_.clear();
  batch.done = done_;
  batch.keep_alive = options_.keep_alive && (options_.http_1_1 || !streaming_);
  if (done_) forgotten = std::move(when_closed_);
  return batch;
}

void Outbox::close() {
  std::function<void()> closed;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
    pending_.clear();
    closed = std::move(when_closed_);
  }
  if (closed) closed();
}

bool Outbox::is_closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

}  // namespace dure
