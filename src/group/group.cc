// See group.h. One thread per group owns the processes and the socket to rank 0 and runs until both
// are gone; the public calls only leave it notes.
#include "group/group.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <future>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "group/descriptor_limit.h"
#include "group/rank_processes.h"
#include "protocol/frame_socket.h"

namespace dure {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds connect_limit{120};  // many hosts, reached by ssh
constexpr std::chrono::seconds end_limit{3};        // from the ranks' last word to their end
constexpr std::chrono::seconds stop_limit{5};       // between words of ranks asked to stop

// Ranks can do without one.
std::string keeper_of(const GroupOptions& options) {
  if (!options.keeper) return "";
  try {
    return options.keeper->running(options.say);
  } catch (const Error& error) {
    const Event event{Level::warning, "weights_not_kept",
                      fmt::format("the ranks' weights will not outlive them: {}", error.message()),
                      error.hint()};
    if (options.say) {
      options.say(event);
    } else {
      std::fprintf(stderr, "%s\n", text_of(event).c_str());
    }
    return "";
  }
}

class RunningGroup final : public Group {
 public:
  RunningGroup(const GroupOptions& options, Events events)
      : options_(options),
        keeper_(keeper_of(options)),
        events_(std::move(events)),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!wake_) throw Error(ErrorCode::failed, "no file descriptors left to start a group");
    std::promise<void> started;
    std::future<void> outcome = started.get_future();
    thread_ = std::thread([this, &started] { run(std::move(started)); });
    try {
      outcome.get();
    } catch (...) {
      thread_.join();
      throw;
    }
  }

  ~RunningGroup() override {
    DURE_CHECK(std::this_thread::get_id() != thread_.get_id());
    leave_note([&] { destroying_ = true; });
    thread_.join();
  }

  void send(const ToRanks& message) override {
    std::string frame = encode(message);
    leave_note([&] {
      if (!stopping_ && !over_) notes_ += frame;
    });
  }

  void stop() override {
    leave_note([&] {
      if (!stopping_ && !over_) notes_ += encode(ToRanks(StopGroup{}));
      stopping_ = true;
    });
    if (std::this_thread::get_id() == thread_.get_id()) return;
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return over_; });
  }

 private:
  template <typename Change>
  void leave_note(Change change) {
    {
      const std::lock_guard lock(mutex_);
      change();
    }
    const uint64_t one = 1;
    (void)!write(wake_.get(), &one, sizeof one);
  }

  void run(std::promise<void> started) {
    std::optional<RankProcesses> processes;
    try {
      processes.emplace(options_, keeper_);
    } catch (...) {
      started.set_exception(std::current_exception());
      return;
    }
    processes_ = &*processes;
    started.set_value();
    try {
      while (watch()) {
      }
    } catch (const Error& error) {
      fail(error);
    }
    front_.reset();
    processes->end();
    const bool well =
        stopped_early_ || (stopping_seen_ && said_goodbye_ && processes->ended_well());
    if (!failed_ && !well) failed_ = processes->how_it_ended(ready_);
    processes.reset();
    bool report = false;
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
      report = failed_ && !destroying_;
    }
    ended_.notify_all();
    if (report && events_.on_failed) events_.on_failed(*failed_);
  }

  void fail(const Error& error, EndCause cause = EndCause::failed) {
    if (failed_) return;
    failed_.emplace();
    failed_->code = static_cast<uint8_t>(error.code());
    failed_->message = error.message();
    failed_->hint = error.hint();
    failed_->cause = cause;
  }

  // The ranks are about to end by themselves, with words that tell why; not for ever, though.
  void expect_end() {
    if (!end_by_) end_by_ = Clock::now() + (stopping_seen_ ? stop_limit : end_limit);
  }

  // Waits for something to happen and deals with it; false when the group is over.
  bool watch() {
    pollfd watched[4] = {{wake_.get(), POLLIN, 0},
                         {processes_->output(), POLLIN, 0},
                         {processes_->ended(), POLLIN, 0},
                         {-1, 0, 0}};
    if (front_) {
      watched[3] = {front_.get(), POLLIN, 0};
      if (!outgoing_.empty()) watched[3].events |= POLLOUT;
    } else if (!end_by_) {
      watched[3] = {processes_->listening_socket(), POLLIN, 0};
    }
    if (poll(watched, 4, wait_ms()) < 0 && errno != EINTR) {
      throw Error(ErrorCode::failed, "cannot watch the group's ranks: poll failed");
    }
    if (watched[1].revents != 0) processes_->read_output();
    if (watched[3].revents != 0) talk();
    if (watched[2].revents != 0) return false;
    return take_notes() && in_time() && !lost_while_starting() && !finds_a_stopped_one();
  }

  int wait_ms() const {
    Clock::time_point next = std::min(next_limit(), next_stop_look_);
    if (!ready_) next = std::min(next, next_look_);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
    return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
  }

  // A rank that mpirun has missed the end of.
  bool lost_while_starting() {
    if (ready_ || Clock::now() < next_look_) return false;
    next_look_ = Clock::now() + StartWatch::interval;
    return processes_->has_lost_a_rank();
  }

  // A rank, or mpirun, that was stopped, whatever the group is doing.
  bool finds_a_stopped_one() {
    if (Clock::now() < next_stop_look_) return false;
    next_stop_look_ = Clock::now() + StopWatch::interval;
    return processes_->has_a_stopped_one();
  }

  Clock::time_point next_limit() const {
    if (end_by_) return *end_by_;
    if (stopping_seen_) return last_word_ + stop_limit;
    if (!connected_) return started_ + connect_limit;
    return Clock::now() + std::chrono::hours(1);
  }

  bool in_time() {
    if (Clock::now() < next_limit()) return true;
    if (stopping_seen_) {
      fail(Error(ErrorCode::failed, "the ranks did not stop when asked and were killed"),
           EndCause::stalled);
    } else if (end_by_) {
      fail(Error(ErrorCode::failed, "rank 0 closed its socket but did not end"),
           EndCause::lost_connection);
    } else {
      const std::string words = processes_->last_words();
      fail(Error(ErrorCode::failed,
                 fmt::format("the ranks did not start within {} s{}{}", connect_limit.count(),
                             words.empty() ? "" : ", having said: ", words),
                 options_.hosts_file.empty()
                     ? "the machine may be overloaded"
                     : "check that `ssh` to every host of the hosts file works without a password"),
           EndCause::stalled);
    }
    return false;
  }

  // False when there is nothing left to wait for.
  bool take_notes() {
    uint64_t count = 0;
    if (read(wake_.get(), &count, sizeof count) < 0) return true;
    const std::lock_guard lock(mutex_);
    outgoing_ += std::exchange(notes_, {});
    if (front_) write_what_fits();
    if (stopping_ && !stopping_seen_) {
      stopping_seen_ = true;
      last_word_ = Clock::now();
      stopped_early_ = !ready_;
    }
    return !destroying_ && !stopped_early_;
  }

  void talk() {
    if (!front_) {
      front_ = Descriptor(
          accept4(processes_->listening_socket(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!front_) return;
      connected_ = true;
      outgoing_.insert(0, encode(ToRanks(options_.start)));
    }
    write_what_fits();
    const bool open = read_available(front_.get(), reader_);
    while (const auto frame = reader_.next()) hear(decode_from_ranks(*frame));
    if (open) return;
    front_.reset();
    said_goodbye_ = !reader_.mid_frame();
    expect_end();
  }

  void write_what_fits() {
    size_t at = 0;
    while (at < outgoing_.size()) {
      const ssize_t n = ::send(front_.get(), outgoing_.data() + at, outgoing_.size() - at,
                               MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n > 0) at += static_cast<size_t>(n);
      if (n < 0 && errno != EINTR) break;  // full, or closed: reading finds that out
    }
    outgoing_.erase(0, at);
  }

  void hear(FromRanks message) {
    last_word_ = Clock::now();
    if (auto* progress = std::get_if<LoadProgress>(&message)) {
      if (events_.on_progress) events_.on_progress(*progress);
    } else if (auto* ready = std::get_if<GroupReady>(&message)) {
      ready_ = std::move(*ready);
      if (events_.on_ready) events_.on_ready(*ready_);
    } else if (auto* done = std::get_if<StepDone>(&message)) {
      if (events_.on_step) events_.on_step(std::move(*done));
    } else if (auto* stats = std::get_if<GroupStats>(&message)) {
      if (events_.on_stats) events_.on_stats(std::move(*stats));
    } else if (auto* spans = std::get_if<RankSpans>(&message)) {
      if (events_.on_spans) events_.on_spans(std::move(*spans));
    } else if (const auto* clock = std::get_if<ClockTold>(&message)) {
      if (events_.on_clock) events_.on_clock(*clock);
    } else if (auto* failed = std::get_if<GroupFailed>(&message)) {
      if (!failed_) failed_ = std::move(*failed);
      expect_end();
    }
  }

  const GroupOptions options_;
  const std::string keeper_;
  const Events events_;
  const Descriptor wake_;
  std::thread thread_;

  std::mutex mutex_;  // guards the next five
  std::condition_variable ended_;
  std::string notes_;  // encoded messages to send
  bool stopping_ = false;
  bool destroying_ = false;
  bool over_ = false;

  // The group's thread's own.
  RankProcesses* processes_ = nullptr;
  Descriptor front_;  // to rank 0
  FrameReader reader_;
  std::string outgoing_;
  std::optional<GroupReady> ready_;
  std::optional<GroupFailed> failed_;
  bool connected_ = false;
  bool stopping_seen_ = false;
  bool stopped_early_ = false;  // while loading: there is nothing to finish
  bool said_goodbye_ = false;   // rank 0 closed the socket between messages
  const Clock::time_point started_ = Clock::now();
  Clock::time_point next_look_ = started_ + StartWatch::interval;
  Clock::time_point next_stop_look_ = started_ + StopWatch::interval;
  Clock::time_point last_word_ = started_;
  std::optional<Clock::time_point> end_by_;
};

}  // namespace

std::unique_ptr<Group> Group::launch(const GroupOptions& options, Events events) {
  check_layout(options.start.layout);
  ensure_descriptors_for(options.hosts_file.empty() ? options.start.layout.world() : 1);
  return std::make_unique<RunningGroup>(options, std::move(events));
}

}  // namespace dure
