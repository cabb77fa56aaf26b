// See scheduled_loop.h.
#include "simulate/scheduled_loop.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "schedule/scheduler.h"
#include "simulate/lengths.h"
#include "simulate/served_tally.h"

namespace dure {
namespace {

constexpr int32_t page_tokens = 16;
constexpr double tokens_replayed = 50'000;

struct Request {
  double sent = 0.0;
  double first = 0.0;
  int32_t input = 0;
  int32_t output = 0;
  int32_t told = 0;  // tokens
};

int waves_of(const ClosedLoad& load) {
  const double one = static_cast<double>(load.concurrency) * static_cast<double>(load.output);
  return std::clamp(static_cast<int>(tokens_replayed / one), std::min(2, load.requests_each),
                    load.requests_each);
}

ScheduleOptions options_of(const EngineModel& engine, const ClosedLoad& load) {
  ScheduleOptions options;
  const auto longest = static_cast<double>(load.input + load.output);
  // Each sequence's last page may be part full. More than the load fills would only take time.
  const double filled = static_cast<double>(load.concurrency) * (longest + page_tokens);
  const double pages = std::clamp(engine.cache_tokens, longest, filled) / page_tokens;
  options.page_tokens = page_tokens;
  options.pages = static_cast<int32_t>(std::min(pages, 1e9)) + 1;
  options.max_batch_tokens = static_cast<int32_t>(engine.budget);
  options.max_running = static_cast<int32_t>(engine.sequences);
  options.share_prefixes = false;  // the load's prompts have nothing in common
  options.stretch = engine.stretch;
  return options;
}

class ScheduledReplay {
 public:
  ScheduledReplay(const StepWork& work, const Hardware& hardware, const TimeConstants& constants,
                  const EngineModel& engine, const ClosedLoad& load)
      : work_(work),
        hardware_(hardware),
        constants_(constants),
        load_(load),
        scheduler_(options_of(engine, load)) {
    Lengths lengths(load.shortest);
    const int count = load.concurrency * waves_of(load);
    for (int i = 0; i < count; ++i) {
      Request request;
      request.input = static_cast<int32_t>(lengths.draw(load.input));
      request.output = static_cast<int32_t>(lengths.draw(load.output));
      requests_.push_back(request);
    }
  }

  ServedMeans run() {
    for (int i = 0; i < load_.concurrency; ++i) send();
    while (true) {
      while (!coming_.empty() && coming_.front().first <= now_) {
        submit(coming_.front().second);
        coming_.pop_front();
      }
      if (const auto step = scheduler_.next_step()) {
        take(*step);
      } else if (!coming_.empty()) {
        now_ = std::max(now_, coming_.front().first);
      } else {
        break;
      }
    }
    return tally_.means(load_, constants_, now_);
  }

 private:
  void send() {
    if (next_ == requests_.size()) return;
    const double place =
        next_ < static_cast<size_t>(load_.concurrency) ? static_cast<double>(next_) + 1.0 : 1.0;
    requests_[next_].sent = now_;
    coming_.emplace_back(now_ + place * constants_.arrival, next_++);
  }

  void submit(size_t index) {
    SequenceRequest request;
    request.id = index;
    request.prompt.assign(static_cast<size_t>(requests_[index].input), 0);
    request.max_tokens = requests_[index].output;
    scheduler_.submit(std::move(request));
  }

  void take(const StepPlan& step) {
    StepLoad load;
    for (const PlannedSlice& slice : step.slices) {
      const auto tokens = static_cast<double>(slice.tokens.size());
      const bool decodes = requests_[slice.sequence].told > 0;
      if (decodes) {
        load.decodes += 1.0;
        load.decode_keys += static_cast<double>(slice.start);
        continue;
      }
      load.prompts += 1.0;
      load.prompts_done += slice.wants_token ? 1.0 : 0.0;
      load.prefill_tokens += tokens;
      load.prefill_pairs += tokens * (static_cast<double>(slice.start) + 0.5 * tokens);
      load.prefill_keys += static_cast<double>(slice.start);
    }
    const double seconds = step_time(work_, hardware_, constants_, load).total();
    now_ += seconds;
    const std::vector<int32_t> answers(step.slices.size(), 1);
    for (const TokenEvent& event : scheduler_.complete(step.id, answers, seconds)) {
      tell(requests_[event.sequence], event.finish != Finish::none);
    }
  }

  void tell(Request& request, bool last) {
    if (request.told++ == 0) {
      request.first = now_;
      tally_.first_token(now_ - request.sent, &request - requests_.data() < load_.concurrency);
    }
    if (!last) return;
    tally_.end(now_ - request.first, request.output);
    send();
  }

  const StepWork& work_;
  const Hardware& hardware_;
  const TimeConstants& constants_;
  const ClosedLoad& load_;
  Scheduler scheduler_;
  std::vector<Request> requests_;
  std::deque<std::pair<double, size_t>> coming_;  // when, request
  size_t next_ = 0;
  double now_ = 0.0;
  ServedTally tally_;
};

}  // namespace

ServedMeans replay_scheduled(const StepWork& work, const Hardware& hardware,
                             const TimeConstants& constants, const EngineModel& engine,
                             const ClosedLoad& load) {
  return ScheduledReplay(work, hardware, constants, engine, load).run();
}

}  // namespace dure
