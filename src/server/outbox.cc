// See outbox.h. Callbacks are never called with the mutex held.
#include "server/outbox.h"

#include "base/error.h"
#include "server/api_errors.h"
#include "server/http_format.h"

namespace dure {

Outbox::Outbox(OutboxOptions options, std::shared_ptr<SharedBytes> unsent,
               std::function<void()> wake)
    : options_(std::move(options)), wake_(std::move(wake)), unsent_(std::move(unsent)) {}

void Outbox::reply(HttpResponse response) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    DURE_CHECK(!streaming_ && !done_);
    if (options_.head_only) {
      end_with(response);
      pending_.resize(pending_.size() - response.body.size());
    } else if (unsent_.set(response.body.size())) {
      end_with(std::move(response));
    } else {
      end_with(error_response({.status = 503,
                               .message = "too many answers wait for their clients to read them",
                               .type = "service_unavailable",
                               .retry_after_s = 1}));
    }
    unsent_.set(pending_.size());
    done_ = true;
  }
  wake_();
}

void Outbox::end_with(HttpResponse response) {
  status_ = response.status;
  pending_ = response_head(response, options_.keep_alive, options_.headers);
  pending_ += response.body;
}

void Outbox::start_stream() {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  DURE_CHECK(!streaming_ && !done_);
  streaming_ = true;
  status_ = 200;
  pending_ = stream_head(options_.http_1_1, options_.keep_alive, options_.headers);
}

void Outbox::write(std::string_view bytes) {
  bool kept = true;
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || bytes.empty()) return;
    DURE_CHECK(streaming_ && !done_);
    kept = append(bytes);
    fell_behind_ = !kept;
  }
  if (kept) return wake_();
  close();
}

bool Outbox::append(std::string_view bytes) {
  if (taken_ + pending_.size() + bytes.size() > options_.max_pending) return false;
  if (options_.http_1_1) {
    pending_ += chunk(bytes);
  } else {
    pending_ += bytes;
  }
  return unsent_.set(taken_ + pending_.size());
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

void Outbox::when_closed(std::function<void()> closed) {
  {
    const std::lock_guard lock(mutex_);
    if (!closed_) {
      if (!done_) when_closed_ = std::move(closed);
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
  taken_ = batch.bytes.size();
  unsent_.set(taken_);
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
    unsent_.set(0);
    closed = std::move(when_closed_);
  }
  if (closed) closed();
  wake_();
}

bool Outbox::is_closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

bool Outbox::fell_behind() const {
  const std::lock_guard lock(mutex_);
  return fell_behind_;
}

int Outbox::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

}  // namespace dure
