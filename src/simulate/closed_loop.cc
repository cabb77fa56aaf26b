// See closed_loop.h. Steps in which nothing comes or goes are taken together: their mean is a step
// with the mean number of cached keys, since a step's time is close to linear in it.
#include "simulate/closed_loop.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <queue>
#include <vector>

#include "schedule/step_pace.h"
#include "simulate/lengths.h"
#include "simulate/scheduled_loop.h"
#include "simulate/served_tally.h"

namespace dure {
namespace {

struct Request {
  double sent = 0.0;   // seconds
  double ready = 0.0;  // when the front has passed it on
  double first = 0.0;  // when its first token was there
  int64_t input = 0;
  int64_t output = 0;
  int64_t prefilled = 0;
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
    Lengths lengths(load.shortest);
    for (int i = 0; i < count; ++i) {
      Request request;
      request.input = lengths.draw(load.input);
      request.output = lengths.draw(load.output);
      requests_.push_back(request);
    }
  }

  ServedMeans run() {
    for (int i = 0; i < load_.concurrency; ++i) send();
    while (true) {
      poll();
      admit();
      if (!prompts_.empty() && !is_waiting()) {
        prefill();
      } else if (!decodes_.empty()) {
        decode_alone();
      } else if (!coming_.empty()) {
        now_ = std::max(now_, request(coming_.front()).ready);
      } else {
        break;
      }
    }
    return tally_.means(load_, constants_, now_);
  }

 private:
  Request& request(int index) { return requests_[static_cast<size_t>(index)]; }

  // The front passes a burst on one after another.
  void send() {
    if (next_ == requests_.size()) return;
    Request& next = requests_[next_];
    const auto number = static_cast<int>(next_++);
    const bool burst = number < load_.concurrency;
    next.sent = now_;
    next.ready = next.sent + constants_.arrival * (burst ? number + 1.0 : 1.0);
    const auto after = std::find_if(coming_.rbegin(), coming_.rend(),
                                    [&](int other) { return request(other).ready <= next.ready; });
    coming_.insert(after.base(), number);
  }

  void poll() {
    const bool looks = decodes_.empty() || since_poll_ >= engine_.poll_steps;
    if (!looks) return;
    since_poll_ = 0;
    // Where steps overlap, the next one was launched before this one's end.
    const double seen = engine_.overlapped && !decodes_.empty() ? last_launch_ : now_;
    while (!coming_.empty() && request(coming_.front()).ready <= seen) {
      waiting_.push_back(coming_.front());
      coming_.pop_front();
    }
  }

  void admit() {
    while (!waiting_.empty()) {
      const Request& first = request(waiting_.front());
      const auto footprint = static_cast<double>(first.input + first.output);
      const size_t running = prompts_.size() + decodes_.size();
      if (running > 0 && (reserved_ + footprint > engine_.cache_tokens ||
                          running >= static_cast<size_t>(engine_.sequences))) {
        return;
      }
      reserved_ += footprint;
      prompt_tokens_ += static_cast<double>(first.input);
      prompts_.push_back(waiting_.front());
      waiting_.pop_front();
    }
  }

  bool is_waiting() const {
    if (engine_.wait_steps == 0 || decodes_.empty() || waited_ >= engine_.wait_steps) return false;
    return engine_.waits_for_peers ||
           prompt_tokens_ + static_cast<double>(decodes_.size()) < engine_.wait_tokens;
  }

  // Until something may change: a sequence ends, a request may be seen, prompts have waited.
  void decode_alone() {
    int64_t steps = decodes_.top().last_step - step_;
    if (!prompts_.empty()) steps = std::min(steps, engine_.wait_steps - waited_);
    if (!untold_.empty()) steps = 1;
    const auto decodes = static_cast<double>(decodes_.size());
    StepLoad load;
    load.decodes = decodes;
    load.decode_keys = keys_ + decodes * static_cast<double>(steps) * 0.5;
    const double each = step_time(work_, hardware_, constants_, load).total();
    if (!coming_.empty()) {
      const double until = request(coming_.front()).ready - now_;
      const auto arriving = static_cast<int64_t>(std::ceil(std::max(0.0, until) / each)) +
                            (engine_.overlapped ? 1 : 0);
      steps = std::min(steps, std::max({int64_t{1}, arriving, engine_.poll_steps - since_poll_}));
    }
    now_ += static_cast<double>(steps) * each;
    last_launch_ = now_ - each;
    step_ += steps;
    since_poll_ += steps;
    if (engine_.waits_for_peers || !prompts_.empty()) waited_ += steps;
    keys_ += decodes * static_cast<double>(steps);
    tell_first_tokens();
    finish();
  }

  void prefill() {
    StepLoad load;
    if (engine_.policy != StepPolicy::prompts_first) {
      load.decodes = static_cast<double>(decodes_.size());
      load.decode_keys = keys_;
    }
    std::vector<int> done = take_prompts(load);
    last_launch_ = now_;
    now_ += step_time(work_, hardware_, constants_, load).total();
    since_poll_ = engine_.poll_steps;
    if (prompts_.empty()) waited_ = 0;
    if (load.decodes > 0.0) {
      ++step_;
      keys_ += load.decodes;
    }
    tell_first_tokens();
    for (const int index : done) {
      untold_.push_back(index);
      keys_ += static_cast<double>(request(index).input);
      decodes_.push({step_ + request(index).output - 1, index});
    }
    if (!engine_.overlapped) tell_first_tokens();
    finish();
  }

  int64_t room_for_prompts(const StepLoad& decodes) const {
    const auto room = static_cast<int64_t>(static_cast<double>(engine_.budget) - decodes.decodes);
    if (engine_.stretch <= 1.0 || decodes.decodes == 0.0 || room <= 0) return room;
    const double alone = step_time(work_, hardware_, constants_, decodes).total();
    const auto added = [&](double tokens) {
      StepLoad with = decodes;
      with.prefill_tokens = tokens;
      with.prompts = 1.0;
      return step_time(work_, hardware_, constants_, with).total() - alone;
    };
    // A line near where the outcome is: small chunks hide in the time of reading weights.
    double tokens = static_cast<double>(room);
    for (int i = 0; i < 4; ++i) {
      PromptCost cost;
      cost.each = (added(tokens) - added(0.5 * tokens)) / (0.5 * tokens);
      cost.fixed = std::max(0.0, added(tokens) - cost.each * tokens);
      tokens = std::min(tokens, paced_tokens(engine_.stretch, alone, cost));
    }
    return static_cast<int64_t>(tokens);
  }

  // Fills a step; returns the prompts that end in it.
  std::vector<int> take_prompts(StepLoad& load) {
    const bool whole = engine_.policy == StepPolicy::whole_prompts;
    int64_t room = room_for_prompts(load);
    std::vector<int> done;
    while (!prompts_.empty() && room > 0) {
      Request& first = request(prompts_.front());
      const int64_t left = first.input - first.prefilled;
      if (whole && load.prompts > 0.0 && left > room) break;
      const int64_t take = whole ? left : std::min(left, room);
      const auto tokens = static_cast<double>(take);
      const auto before = static_cast<double>(first.prefilled);
      load.prompts += 1.0;
      load.prefill_tokens += tokens;
      load.prefill_pairs += tokens * (before + 0.5 * tokens);
      load.prefill_keys += before;
      prompt_tokens_ -= tokens;
      first.prefilled += take;
      room -= take;
      if (first.prefilled < first.input) break;
      done.push_back(prompts_.front());
      prompts_.pop_front();
    }
    load.prompts_done = static_cast<double>(done.size());
    return done;
  }

  void tell_first_tokens() {
    for (const int index : untold_) {
      request(index).first = now_;
      tally_.first_token(now_ - request(index).sent, index < load_.concurrency);
    }
    untold_.clear();
  }

  void finish() {
    while (!decodes_.empty() && decodes_.top().last_step <= step_) {
      const Request& last = request(decodes_.top().request);
      if (!untold_.empty()) tell_first_tokens();
      decodes_.pop();
      tally_.end(now_ - last.first, last.output);
      keys_ -= static_cast<double>(last.input + last.output - 1);
      reserved_ -= static_cast<double>(last.input + last.output);
      send();
    }
  }

  const StepWork& work_;
  const Hardware& hardware_;
  const TimeConstants& constants_;
  const EngineModel& engine_;
  const ClosedLoad& load_;
  std::vector<Request> requests_;
  std::deque<int> coming_;   // sent
  std::deque<int> waiting_;  // seen by the engine
  std::deque<int> prompts_;  // admitted, not prefilled
  std::priority_queue<Decode> decodes_;
  std::vector<int> untold_;  // whose first token is not told yet
  size_t next_ = 0;
  int64_t step_ = 0;  // of decodes
  int64_t since_poll_ = 0;
  int64_t waited_ = 0;  // steps
  double now_ = 0.0;
  double last_launch_ = 0.0;  // of a step
  double keys_ = 0.0;         // cached tokens of decodes
  double reserved_ = 0.0;     // cache
  double prompt_tokens_ = 0.0;
  ServedTally tally_;
};

}  // namespace

ServedMeans replay(const StepWork& work, const Hardware& hardware, const TimeConstants& constants,
                   const EngineModel& engine, const ClosedLoad& load) {
  if (engine.policy == StepPolicy::dure) {
    return replay_scheduled(work, hardware, constants, engine, load);
  }
  return Replay(work, hardware, constants, engine, load).run();
}

}  // namespace dure
