// See pools.h.
#include "simulate/pools.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "simulate/lengths.h"
#include "simulate/served_tally.h"

namespace dure {
namespace {

struct Request {
  double sent = 0.0;
  double first = 0.0;
  int64_t input = 0;
  int64_t output = 0;
};

enum class What { ready, prefilled, handed_over, decoded };

struct Event {
  double time = 0.0;
  What what = What::ready;
  int index = 0;  // of a request; of a worker where it has decoded
  bool operator<(const Event& other) const {
    return std::tie(time, what, index) > std::tie(other.time, other.what, other.index);
  }
};

struct DecodeWorker {
  std::vector<int> joining;                                // handed over while it was in a step
  std::priority_queue<std::pair<int64_t, int>> sequences;  // minus the last step, request
  int64_t step = 0;
  int64_t steps = 0;  // of the run in progress
  bool busy = false;
  double keys = 0.0;
  // The step that tells a first token, request.
  std::priority_queue<std::pair<int64_t, int>, std::vector<std::pair<int64_t, int>>, std::greater<>>
      untold;
  size_t load() const { return joining.size() + sequences.size(); }
};

// Of thousands of users fewer waves are replayed than each sends.
int waves_of(const ClosedLoad& load) {
  constexpr int requests_replayed = 3000;
  return std::clamp(requests_replayed / load.concurrency, std::min(3, load.requests_each),
                    load.requests_each);
}

class PoolsReplay {
 public:
  PoolsReplay(const Pool& prefill, const Pool& decode, const Handover& handover,
              const Hardware& hardware, const TimeConstants& constants, const ClosedLoad& load)
      : prefill_(prefill),
        decode_(decode),
        handover_(handover),
        hardware_(hardware),
        constants_(constants),
        load_(load),
        idle_(prefill.workers),
        workers_(static_cast<size_t>(decode.workers)) {
    const int count = load.concurrency * waves_of(load);
    Lengths lengths(load.shortest);
    for (int i = 0; i < count; ++i) {
      requests_.push_back({0.0, 0.0, lengths.draw(load.input), lengths.draw(load.output)});
    }
  }

  ServedMeans run() {
    StepLoad shortest;
    shortest.prefill_tokens = load_.shortest * static_cast<double>(load_.input);
    shortest_prefill_ = step_time(prefill_.work, hardware_, constants_, shortest).total();
    for (int i = 0; i < load_.concurrency; ++i) send();
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.time;
      switch (event.what) {
        case What::ready:
          queue_.push_back(event.index);
          break;
        case What::prefilled:
          ++idle_;
          break;
        case What::handed_over:
          handovers_.pop();
          join(event.index);
          break;
        case What::decoded:
          decoded(workers_[static_cast<size_t>(event.index)]);
          break;
      }
      start_prefills();
      start_decodes();
    }
    return tally_.means(load_, constants_, now_);
  }

 private:
  Request& request(int index) { return requests_[static_cast<size_t>(index)]; }

  void send() {
    if (next_ == requests_.size()) return;
    const auto number = static_cast<int>(next_++);
    request(number).sent = now_;
    const double place = number < load_.concurrency ? number + 1.0 : 1.0;
    events_.push({now_ + place * constants_.arrival, What::ready, number});
  }

  // Each idle worker takes as many prompts as its ranks have room for.
  void start_prefills() {
    const auto ranks = static_cast<size_t>(prefill_.work.layout.dp);
    while (idle_ > 0 && !queue_.empty()) {
      std::vector<int> taken;
      double tokens = 0.0;
      double pairs = 0.0;
      double longest = 0.0;
      const double room = static_cast<double>(prefill_.scheduling.budget) * ranks;
      while (!queue_.empty()) {
        const auto input = static_cast<double>(request(queue_.front()).input);
        if (taken.size() >= ranks && tokens + input > room) break;
        taken.push_back(queue_.front());
        queue_.pop_front();
        tokens += input;
        pairs += 0.5 * input * input;
        longest = std::max(longest, input);
      }
      const double share =
          std::max(1.0 / static_cast<double>(ranks), longest / std::max(tokens, 1.0));
      StepLoad load;
      load.prefill_tokens = tokens * share;
      load.prefill_pairs = pairs * share;
      load.prompts = load.prompts_done = std::max(1.0, static_cast<double>(taken.size()) * share);
      const double end = now_ + step_time(prefill_.work, hardware_, constants_, load).total();
      --idle_;
      events_.push({end, What::prefilled, 0});
      for (const int index : taken) {
        const double bytes = handover_.bytes_per_token * static_cast<double>(request(index).input);
        const double there = end + bytes / handover_.bytes_per_s;
        events_.push({there, What::handed_over, index});
        handovers_.push(there);
      }
    }
  }

  void join(int index) {
    const auto least = std::min_element(
        workers_.begin(), workers_.end(),
        [](const DecodeWorker& a, const DecodeWorker& b) { return a.load() < b.load(); });
    least->joining.push_back(index);
  }

  void start_decodes() {
    for (size_t i = 0; i < workers_.size(); ++i) {
      DecodeWorker& worker = workers_[i];
      if (!worker.busy && worker.load() > 0) start(worker, static_cast<int>(i));
    }
  }

  void start(DecodeWorker& worker, int number) {
    for (const int index : worker.joining) {
      worker.keys += static_cast<double>(request(index).input);
      const int64_t steps = std::max<int64_t>(request(index).output - 1, 1);
      worker.sequences.push({-(worker.step + steps), index});
      worker.untold.push({worker.step + std::min(steps, decode_.scheduling.tells_after), index});
    }
    worker.joining.clear();
    const auto ranks = static_cast<double>(decode_.work.layout.dp);
    const auto sequences = static_cast<double>(worker.sequences.size());
    StepLoad load;
    load.decodes = std::ceil(sequences / ranks);
    load.decode_keys = worker.keys / sequences * load.decodes;
    const double each = step_time(decode_.work, hardware_, constants_, load).total();
    // Until a sequence ends, a first token is told, or something may join.
    int64_t left = -worker.sequences.top().first - worker.step;
    if (!worker.untold.empty()) left = std::min(left, worker.untold.top().first - worker.step);
    const double known = handovers_.empty() ? 1e18 : handovers_.top() - now_;
    const double until = std::ceil(std::min(known, shortest_prefill_) / each);
    worker.steps =
        std::max<int64_t>(1, static_cast<int64_t>(std::min(static_cast<double>(left), until)));
    worker.busy = true;
    events_.push({now_ + each * static_cast<double>(worker.steps), What::decoded, number});
  }

  void decoded(DecodeWorker& worker) {
    worker.busy = false;
    worker.step += worker.steps;
    worker.keys += static_cast<double>(worker.sequences.size()) * static_cast<double>(worker.steps);
    while (!worker.untold.empty() && worker.untold.top().first <= worker.step) {
      const int index = worker.untold.top().second;
      request(index).first = now_;
      tally_.first_token(now_ - request(index).sent, index < load_.concurrency);
      worker.untold.pop();
    }
    while (!worker.sequences.empty() && -worker.sequences.top().first <= worker.step) {
      const Request& last = request(worker.sequences.top().second);
      worker.sequences.pop();
      worker.keys -= static_cast<double>(last.input + std::max<int64_t>(last.output - 1, 1));
      tally_.end(now_ - last.first, last.output);
      send();
    }
  }

  const Pool& prefill_;
  const Pool& decode_;
  const Handover& handover_;
  const Hardware& hardware_;
  const TimeConstants& constants_;
  const ClosedLoad& load_;
  std::vector<Request> requests_;
  size_t next_ = 0;
  std::priority_queue<Event> events_;
  std::deque<int> queue_;  // wait for a prefill
  int idle_ = 0;           // prefill workers
  // When what is being prefilled will be handed over; what is not yet takes at least a prefill.
  std::priority_queue<double, std::vector<double>, std::greater<>> handovers_;
  double shortest_prefill_ = 0.0;
  std::vector<DecodeWorker> workers_;
  double now_ = 0.0;
  ServedTally tally_;
};

}  // namespace

ServedMeans replay_pools(const Pool& prefill, const Pool& decode, const Handover& handover,
                         const Hardware& hardware, const TimeConstants& constants,
                         const ClosedLoad& load) {
  return PoolsReplay(prefill, decode, handover, hardware, constants, load).run();
}

}  // namespace dure
