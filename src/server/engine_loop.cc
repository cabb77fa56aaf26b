// The engine as the other threads see it: admission, status, waiting.
#include "server/engine_loop.h"

#include <fmt/format.h>

#include "base/units.h"
#include "server/engine_thread.h"

namespace dure {

Error shutting_down() {
  return Error(ErrorCode::unavailable, "the server is shutting down");
}

EngineLoop::EngineLoop(EngineOptions options, std::shared_ptr<const Tokenizer> tokenizer,
                       GroupFactory factory)
    : thread_(
          std::make_unique<Thread>(std::move(options), std::move(tokenizer), std::move(factory))) {}

EngineLoop::~EngineLoop() {
  stop_now();
}

std::vector<uint64_t> EngineLoop::submit(std::vector<Generation> generations) {
  return thread_->submit(std::move(generations));
}

void EngineLoop::cancel(std::span<const uint64_t> ids) {
  thread_->post(Thread::Cancel{{ids.begin(), ids.end()}});
}

EngineStatus EngineLoop::status() const {
  return thread_->status();
}

void EngineLoop::ask_measures(std::function<void(const RankMeasures&)> answer) {
  if (!thread_->post(Thread::AskMeasures{answer})) answer({});
}

GroupReady EngineLoop::wait_ready() {
  return thread_->wait_ready();
}

void EngineLoop::drain(std::chrono::milliseconds at_most) {
  thread_->refusing = true;
  thread_->post(Thread::Stop{Thread::Clock::now() + at_most, true});
}

void EngineLoop::stop_now() {
  thread_->refusing = true;
  thread_->post(Thread::Stop{Thread::Clock::now(), false});
}

void EngineLoop::wait_stopped() {
  thread_->wait_stopped();
}

// A step's message holds the lists of all sequences that enter with it, and after the ranks died
// these are all that run: what is taken must fit into one.
void EngineLoop::Thread::take_room(std::vector<Generation>& generations) {
  constexpr int64_t most_of_all = max_frame_bytes / 2;
  int64_t bytes = 0;
  for (const Generation& generation : generations) bytes += bytes_of_lists(generation.sampling);
  const std::shared_ptr<const void> room(nullptr,
                                         [this, bytes](const void*) { parameter_bytes_ -= bytes; });
  if (parameter_bytes_.fetch_add(bytes) + bytes > most_of_all) {
    throw Error(ErrorCode::overloaded,
                fmt::format("the lists of all requests take {}, and no more are taken",
                            format_bytes(most_of_all)),
                "try again later, or with shorter lists");
  }
  for (Generation& generation : generations) generation.room = room;
}

std::vector<uint64_t> EngineLoop::Thread::submit(std::vector<Generation> generations) {
  if (refusing) throw shutting_down();
  {
    const std::lock_guard lock(mutex_);
    if (status_.state != GroupState::ready && status_.state != GroupState::restarting) {
      throw Error(ErrorCode::unavailable,
                  status_.state == GroupState::loading
                      ? "the model is loading"
                      : fmt::format("the model's ranks are {}: {}", to_string(status_.state),
                                    status_.last_error));
    }
  }
  const auto count = static_cast<int>(generations.size());
  if (count > options_.max_requests) {
    throw_bad_input(fmt::format("{} sequences in one request, where {} may run or wait in all",
                                count, options_.max_requests),
                    "ask for fewer choices or send fewer prompts at once", "n");
  }
  take_room(generations);
  if (admitted_.fetch_add(count) + count > options_.max_requests) {
    admitted_ -= count;
    throw Error(ErrorCode::overloaded,
                fmt::format("{} requests are running or waiting, and no more are taken",
                            options_.max_requests),
                "try again later");
  }
  std::vector<uint64_t> ids;
  for (Generation& generation : generations) {
    ids.push_back(next_id_++);
    const auto shared = std::make_shared<Generation>(std::move(generation));
    if (!post(Submit{ids.back(), shared})) shared->sink->on_error(shutting_down());
  }
  return ids;
}

EngineStatus EngineLoop::Thread::status() const {
  const std::lock_guard lock(mutex_);
  EngineStatus status = status_;
  if (step_out_) {
    status.stalled_s = std::chrono::duration<double>(Clock::now() - progress_at_).count();
  }
  return status;
}

GroupReady EngineLoop::Thread::wait_ready() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return stopped_ || status_.state == GroupState::ready || status_.state == GroupState::failed;
  });
  if (status_.state == GroupState::ready && !stopped_) return *status_.ready;
  throw last_error_;
}

void EngineLoop::Thread::wait_stopped() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopped_; });
}

}  // namespace dure
