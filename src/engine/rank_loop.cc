// See rank_loop.h. MPI is called from this thread only; loading runs beside it, so that progress
// and failures of other ranks are seen meanwhile.
#include "engine/rank_loop.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/host_name.h"
#include "comm/rank_guard.h"
#include "engine/rank_model.h"
#include "engine/step_collector.h"
#include "protocol/frame_socket.h"
#include "protocol/messages.h"
#include "trace/clock_offset.h"
#include "trace/step_clock.h"

namespace dure {
namespace {

using std::chrono::duration;

// Nothing but mail and the front make an idle rank act.
constexpr std::chrono::minutes long_rest{1};

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string without_length(std::string frame) {
  return frame.substr(sizeof(uint32_t));
}

// Of a trace.
constexpr std::chrono::milliseconds spans_interval{100};  // from telling to telling
constexpr size_t spans_batch = 8192;                      // or so many spans
constexpr std::chrono::seconds spans_patience{1};
constexpr int clock_rounds = 16;

class RankLoop {
 public:
  RankLoop(World& world, const std::filesystem::path& front, std::string keeper)
      : world_(world), keeper_(std::move(keeper)) {
    if (is_first()) {
      front_ = connect_to(front);
      watch_.emplace(front_.get());
    }
    world_.show_place_in(front.parent_path());
    world_.use_doorbells(front.parent_path());
  }

  void run() {
    load(await_start());
    while (!(stopping_ && steps_.empty() && !(collector_ && collector_->pending()))) {
      take_orders_and_mail();
      tell_spans(false);
      if (steps_.empty()) {
        const bool untold = world_.clock().kept() > 0;
        if (!stopping_ || (collector_ && collector_->pending())) {
          rest(untold ? spans_interval : long_rest);
        }
        continue;
      }
      const Step step = std::move(steps_.front());
      steps_.pop_front();
      if (std::optional<StepDone> part = model_->run(step)) answer(std::move(*part));
      world_.end_step();
    }
    end_spans();
    watch_.reset();
    world_.finish();
  }

  // The front gets one error, the first one; the others end with it.
  void fail(const Error& error, EndCause cause) {
    GroupFailed failed;
    failed.rank = world_.rank();
    failed.code = static_cast<uint8_t>(error.code());
    failed.message = error.message();
    failed.hint = error.hint();
    failed.cause = cause;
    failed.pid = getpid();
    failed.host = host_name();
    failed.where = world_.where();
    try {
      if (is_first()) {
        forward_failure(failed);
      } else {
        tell_first(failed);
        // Rank 0 ends us; if it is stuck itself, its own error says so and we end alone.
        world_.wait_mail(-1, duration<double>(1.0));
      }
    } catch (const Error&) {
      // The front or rank 0 is gone: nobody is left to tell.
    }
    std::fprintf(stderr, "rank %d: error: %s\n", failed.rank, failed.message.c_str());
    world_.abort(3);
  }

 private:
  bool is_first() const { return world_.rank() == 0; }

  void tell_first(const FromRanks& message) { world_.post(0, without_length(encode(message))); }

  void tell_front(const FromRanks& message) {
    send_frame(front_.get(), encode(message),
               std::chrono::steady_clock::now() + std::chrono::seconds(30));
  }

  [[noreturn]] void forward_failure(const GroupFailed& failed) {
    tell_front(failed);
    world_.abort(3);
  }

  void rest(duration<double> timeout) {
    if (std::optional<World::Mail> mail = world_.wait_mail(front_.get(), timeout)) take(*mail);
  }

  void take_orders_and_mail() {
    if (is_first()) {
      // A front that is gone ends this process through FrontWatch.
      read_available(front_.get(), reader_);
      while (std::optional<Frame> frame = reader_.next()) {
        const std::string copy(reinterpret_cast<const char*>(frame->data()), frame->size());
        for (int rank = 1; rank < world_.size(); ++rank) world_.post(rank, copy);
        obey(decode_to_ranks(*frame));
      }
    }
    while (std::optional<World::Mail> mail = world_.poll_mail()) take(*mail);
  }

  void take(const World::Mail& mail) {
    if (is_first()) {
      hear(mail.from, decode_from_ranks(bytes_of(mail.message)));
    } else {
      obey(decode_to_ranks(bytes_of(mail.message)));
    }
  }

  // Orders, in the front's order.
  void obey(ToRanks message) {
    if (auto* start = std::get_if<StartGroup>(&message)) {
      start_ = std::move(*start);
    } else if (auto* step = std::get_if<Step>(&message)) {
      if (is_first()) collector_->expect(*step);
      steps_.push_back(std::move(*step));
    } else if (std::holds_alternative<AskStats>(message)) {
      if (is_first()) {
        hear(0, model_->stats());
      } else {
        tell_first(model_->stats());
      }
    } else if (std::holds_alternative<AskClock>(message)) {
      tell_first(ClockTold{world_.rank(), ns_of(StepClock::Clock::now()), 0});
    } else {
      stopping_ = true;
    }
  }

  // What ranks tell rank 0.
  void hear(int from, FromRanks message) {
    if (auto* done = std::get_if<StepDone>(&message)) {
      if (auto whole = collector_->add(from, std::move(*done))) tell_front(std::move(*whole));
    } else if (auto* progress = std::get_if<LoadProgress>(&message)) {
      progress_[static_cast<size_t>(from)] = *progress;
    } else if (auto* ready = std::get_if<GroupReady>(&message)) {
      reports_.ranks.push_back(std::move(ready->ranks.at(0)));
    } else if (auto* stats = std::get_if<GroupStats>(&message)) {
      add_stats(*stats);
    } else if (auto* spans = std::get_if<RankSpans>(&message)) {
      pass_on(from, std::move(*spans));
    } else if (const auto* clock = std::get_if<ClockTold>(&message)) {
      clock_told_ = *clock;
    } else {
      forward_failure(std::get<GroupFailed>(message));
    }
  }

  void answer(StepDone part) {
    if (is_first()) {
      hear(0, std::move(part));
    } else {
      tell_first(std::move(part));
    }
  }

  void add_stats(const GroupStats& stats) {
    stats_.ranks.insert(stats_.ranks.end(), stats.ranks.begin(), stats.ranks.end());
    stats_.dropped_slots += stats.dropped_slots;
    stats_.moved_slots += stats.moved_slots;
    if (static_cast<int>(stats_.ranks.size()) < world_.size()) return;
    std::sort(stats_.ranks.begin(), stats_.ranks.end(),
              [](const RankStats& a, const RankStats& b) { return a.rank < b.rank; });
    tell_front(std::exchange(stats_, {}));
  }

  // Spans go to rank 0 in batches, and what is left once the rank has rested a moment.
  void tell_spans(bool all) {
    StepClock& clock = world_.clock();
    if (clock.kept() == 0) return;
    const auto now = StepClock::Clock::now();
    if (!all && clock.kept() < spans_batch && now < next_spans_) return;
    next_spans_ = now + spans_interval;
    RankSpans told{world_.rank(), clock.lost(), clock.names(), clock.take_spans()};
    if (is_first()) {
      pass_on(0, std::move(told));
    } else {
      tell_first(std::move(told));
    }
  }

  // The last ones end with an empty message; rank 0 waits for those, but not for ever.
  void end_spans() {
    if (!world_.clock().keeps_spans()) return;
    tell_spans(true);
    if (!is_first()) return tell_first(RankSpans{world_.rank(), 0, {}, {}});
    const auto end = StepClock::Clock::now() + spans_patience;
    while (ends_of_spans_ + 1 < world_.size() && StepClock::Clock::now() < end) {
      rest(spans_interval);
    }
  }

  void pass_on(int from, RankSpans spans) {
    if (spans.spans.empty()) {
      ++ends_of_spans_;
      return;
    }
    const auto offset = clock_offsets_.find(from);
    if (offset != clock_offsets_.end()) {
      for (Span& span : spans.spans) span.begin_ns += offset->second;
    }
    tell_front(spans);
  }

  // Ranks of one host share a clock.
  void compare_clocks() {
    for (const RankReport& report : reports_.ranks) {
      if (report.host == reports_.ranks.front().host) continue;
      ClockOffset offset;
      for (int round = 0; round < clock_rounds; ++round) {
        const int64_t asked = ns_of(StepClock::Clock::now());
        clock_told_.reset();
        world_.post(report.rank, without_length(encode(AskClock{})));
        const auto end = StepClock::Clock::now() + spans_patience;
        while (!clock_told_ && StepClock::Clock::now() < end) rest(spans_interval);
        if (!clock_told_) break;
        offset.add(asked, clock_told_->ns, ns_of(StepClock::Clock::now()));
      }
      clock_offsets_[report.rank] = offset.offset();
      tell_front(ClockTold{report.rank, offset.offset(), offset.within()});
    }
  }

  StartGroup await_start() {
    while (!start_) {
      take_orders_and_mail();
      if (!start_) rest(long_rest);
    }
    return *start_;
  }

  void load(const StartGroup& start) {
    if (start.layout.world() != world_.size()) {
      throw Error(ErrorCode::failed, fmt::format("{} ranks were started for a layout of {}",
                                                 world_.size(), start.layout.world()));
    }
    world_.set_layout(start.layout, duration<double>(start.deadline_s));
    if (start.tracing == Tracing::on) world_.clock().keep_spans();
    model_ = std::make_unique<RankModel>(start, world_, keeper_);
    progress_.resize(static_cast<size_t>(world_.size()));
    collector_.emplace(start.layout);
    std::future<void> loading = std::async(std::launch::async, [this] { model_->load(); });
    while (loading.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      rest(duration<double>(0.1));
      take_orders_and_mail();
      report_progress();
    }
    loading.get();
    report_progress();
    await_all_ready();
    world_.end_step();
  }

  void report_progress() {
    const LoadProgress mine{model_->bytes_loaded(), model_->bytes_to_load()};
    if (!is_first()) {
      tell_first(mine);
      return;
    }
    progress_[0] = mine;
    LoadProgress sum;
    for (const LoadProgress& each : progress_) {
      sum.bytes_done += each.bytes_done;
      sum.bytes_total += each.bytes_total;
    }
    tell_front(sum);
  }

  void await_all_ready() {
    GroupReady mine;
    mine.ranks.push_back(model_->report());
    if (!is_first()) {
      tell_first(mine);
      return;
    }
    hear(0, mine);
    while (static_cast<int>(reports_.ranks.size()) < world_.size()) {
      rest(duration<double>(0.1));
      take_orders_and_mail();
      if (static_cast<int>(reports_.ranks.size()) < world_.size()) report_progress();
    }
    std::sort(reports_.ranks.begin(), reports_.ranks.end(),
              [](const RankReport& a, const RankReport& b) { return a.rank < b.rank; });
    if (start_->tracing == Tracing::on) compare_clocks();
    tell_front(reports_);
  }

  World& world_;
  std::string keeper_;
  Descriptor front_;  // rank 0 only
  std::optional<FrontWatch> watch_;
  FrameReader reader_;
  std::optional<StartGroup> start_;
  std::unique_ptr<RankModel> model_;
  std::deque<Step> steps_;
  bool stopping_ = false;
  StepClock::Clock::time_point next_spans_{};

  // Rank 0: what the others have said.
  std::optional<StepCollector> collector_;
  std::vector<LoadProgress> progress_;
  GroupReady reports_;
  GroupStats stats_;
  std::optional<ClockTold> clock_told_;   // the last answer
  std::map<int, int64_t> clock_offsets_;  // of ranks of other hosts, ns
  int ends_of_spans_ = 0;
};

// Names the rank, its host and process, and where it was.
Error out_of_memory(const World& world) {
  return Error(ErrorCode::failed,
               fmt::format("rank {} (pid {} on {}) was refused memory{}", world.rank(), getpid(),
                           host_name(), world.place()),
               "free memory on that machine, lower --kv-memory, or spread the model over more "
               "ranks");
}

}  // namespace

int run_rank(World& world, const std::filesystem::path& front, const std::string& keeper) {
  std::unique_ptr<RankLoop> loop;
  try {
    loop = std::make_unique<RankLoop>(world, front, keeper);
    loop->run();
    return 0;
  } catch (const Stalled& error) {
    if (loop) loop->fail(error, EndCause::stalled);
    std::fprintf(stderr, "rank %d: error: %s\n", world.rank(), error.what());
  } catch (const Error& error) {
    if (loop) loop->fail(error, EndCause::failed);
    std::fprintf(stderr, "rank %d: error: %s\n", world.rank(), error.what());
  } catch (const std::bad_alloc&) {
    const Error wrapped = out_of_memory(world);
    if (loop) loop->fail(wrapped, EndCause::out_of_memory);
    std::fprintf(stderr, "rank %d: error: %s\n", world.rank(), wrapped.what());
  } catch (const std::exception& error) {
    const Error wrapped(ErrorCode::failed, error.what());
    if (loop) loop->fail(wrapped, EndCause::failed);
    std::fprintf(stderr, "rank %d: error: %s\n", world.rank(), error.what());
  }
  world.abort(3);
  return 3;
}

}  // namespace dure
