// See closed_loop.h. Steps in which nothing comes or goes are taken together: their mean is a step
// with the mean number of cached keys, since a step's time is close to linear in it.
#include "simulate/closed_loop.h"

#include <algorithm>
#include <deque>
#include <queue>
#include <vector>

namespace dure {
namespace {

struct Request {
  double arrival = 0.0;
  double first = 0.0;  // when its first token was there
  int64_t input = 0;
  int64_t output = 0;
  int64_t prefilled = 0;
  int64_t eligible = 0;  // the first step that may take it
};

struct Decode {
  int64_t last_step = 0;  // the number of the step that gives its last token
  int request = 0;
  bool operator<(const Decode& other) const { return last_step > other.last_step; }
};

class Replay {
 public:
  Replay(const StepWork& work, const Hardware& hardware, const TimeConstants& constants,
         const EngineModel& engine, const ClosedLoad& load)
      : work_(work), hardware_(hardware), constants_(constants), engine_(engine), load_(load) {
    const int count = load.concurrency * load.requests_each;
    requests_.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) {
      Request request;
      request.input = length(load.input);
      request.output = std::max<int64_t>(length(load.output), 1);
      requests_.push_back(request);
    }
  }

  ServedMeans run() {
    for (int i = 0; i < load_.concurrency; ++i) arrive();
    while (!waiting_.empty() || !prompts_.empty() || !decodes_.empty()) {
      admit();
      if (prompts_.empty()) {
        decode_alone();
      } else {
        prefill();
      }
    }
    tell_first_tokens();
    const auto count = static_cast<double>(requests_.size());
    return {ttft_ / count + constants_.first_token, tpot_ / std::max(1.0, timed_), tokens_ / now_};
  }

 private:
  int64_t length(int64_t nominal) {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    const double uniform = static_cast<double>(random_ >> 11) / 9007199254740992.0;
    return static_cast<int64_t>(static_cast<double>(nominal) *
                                (load_.shortest + (1.0 - load_.shortest) * uniform));
  }

  void arrive() {
    if (next_ == requests_.size()) return;
    requests_[next_].arrival = now_;
    requests_[next_].eligible = iteration_ + (engine_.overlapped && !decodes_.empty() ? 1 : 0);
    waiting_.push_back(static_cast<int>(next_++));
  }

  double footprint(const Request& request) const {
    return static_cast<double>(request.input + request.output);
  }

  void admit() {
    while (!waiting_.empty()) {
      const Request& request = requests_[static_cast<size_t>(waiting_.front())];
      if (request.eligible > iteration_ && !decodes_.empty()) return;
      const bool alone = prompts_.empty() && decodes_.empty();
      if (!alone && reserved_ + footprint(request) > engine_.cache_tokens) return;
      reserved_ += footprint(request);
      prompts_.push_back(waiting_.front());
      waiting_.pop_front();
    }
  }

  // Until the next sequence ends.
  void decode_alone() {
    // One step only where somebody waits for the next.
    const bool one =
        !waiting_.empty() && requests_[static_cast<size_t>(waiting_.front())].eligible > iteration_;
    const int64_t steps = one ? 1 : decodes_.top().last_step - step_;
    StepLoad load;
    load.decodes = static_cast<double>(decodes_.size());
    load.decode_keys = keys_ + load.decodes * static_cast<double>(steps) * 0.5;
    now_ += static_cast<double>(steps) * step_time(work_, hardware_, constants_, load).total();
    step_ += steps;
    iteration_ += steps;
    tell_first_tokens();
    keys_ += load.decodes * static_cast<double>(steps);
    finish();
  }

  void prefill() {
    StepLoad load;
    if (engine_.scheduler != Scheduler::prompts_first) {
      load.decodes = static_cast<double>(decodes_.size());
      load.decode_keys = keys_;
    }
    // One whole prompt a step, as it takes them.
    const bool whole = engine_.scheduler == Scheduler::whole_prompts;
    auto room = static_cast<int64_t>(static_cast<double>(engine_.budget) - load.decodes);
    std::vector<int> done;
    while (!prompts_.empty() && room > 0) {
      Request& request = requests_[static_cast<size_t>(prompts_.front())];
      const int64_t left = request.input - request.prefilled;
      if (whole && load.prefill_tokens > 0.0) break;
      const int64_t take = whole ? left : std::min(left, room);
      load.prompts += 1.0;
      load.prefill_tokens += static_cast<double>(take);
      load.prefill_pairs += static_cast<double>(take) * (static_cast<double>(request.prefilled) +
                                                         0.5 * static_cast<double>(take));
      if (request.prefilled > 0) load.prefill_keys += static_cast<double>(request.prefilled);
      request.prefilled += take;
      room -= take;
      if (request.prefilled < request.input) break;
      done.push_back(prompts_.front());
      prompts_.pop_front();
    }
    load.prompts_done = static_cast<double>(done.size());
    now_ += step_time(work_, hardware_, constants_, load).total();
    ++iteration_;
    tell_first_tokens();
    if (load.decodes > 0.0) {
      ++step_;
      keys_ += load.decodes;
    }
    for (const int index : done) {
      Request& request = requests_[static_cast<size_t>(index)];
      request.first = now_;
      if (engine_.overlapped) {
        untold_.push_back(index);
      } else {
        ttft_ += now_ - request.arrival;
      }
      keys_ += static_cast<double>(request.input);
      decodes_.push({step_ + request.output - 1, index});
    }
    finish();
  }

  // First tokens of the step before, where steps overlap.
  void tell_first_tokens() {
    for (const int index : untold_) {
      Request& request = requests_[static_cast<size_t>(index)];
      request.first = now_;
      ttft_ += now_ - request.arrival;
    }
    untold_.clear();
  }

  void finish() {
    while (!decodes_.empty() && decodes_.top().last_step <= step_) {
      const Request& request = requests_[static_cast<size_t>(decodes_.top().request)];
      decodes_.pop();
      if (request.output > 1) {
        tpot_ += (now_ - request.first) / static_cast<double>(request.output - 1);
        timed_ += 1.0;
      }
      tokens_ += static_cast<double>(request.output);
      keys_ -= static_cast<double>(request.input + request.output - 1);
      reserved_ -= footprint(request);
      arrive();
    }
  }

  const StepWork& work_;
  const Hardware& hardware_;
  const TimeConstants& constants_;
  const EngineModel& engine_;
  const ClosedLoad& load_;
  std::vector<Request> requests_;
  std::deque<int> waiting_;
  std::deque<int> prompts_;  // admitted, not prefilled
  std::priority_queue<Decode> decodes_;
  size_t next_ = 0;
  uint64_t random_ = 1;
  int64_t step_ = 0;       // of decodes
  int64_t iteration_ = 0;  // steps of any kind
  std::vector<int> untold_;
  double now_ = 0.0;
  double keys_ = 0.0;      // cached tokens of decodes
  double reserved_ = 0.0;  // cache
  double ttft_ = 0.0;      // sums
  double tpot_ = 0.0;
  double timed_ = 0.0;
  double tokens_ = 0.0;
};

}  // namespace

ServedMeans replay(const StepWork& work, const Hardware& hardware, const TimeConstants& constants,
                   const EngineModel& engine, const ClosedLoad& load) {
  return Replay(work, hardware, constants, engine, load).run();
}

}  // namespace dure
