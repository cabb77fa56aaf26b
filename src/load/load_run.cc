// See load_run.h.
#include "load/load_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "load/answer_reader.h"

namespace dure::load {
namespace {

constexpr double tick_s = 0.01;
constexpr double progress_s = 0.25;
constexpr int64_t most_warm_ups_at_once = 16;
constexpr double longest_pause_s = 60.0;

// How long a client waits before its next request: as told by a server that has no room, and a
// little where nobody answers, so that a closed loop does not run through its requests in no time.
double pause_after(const Record& last) {
  if (last.outcome != Outcome::failed) return 0.0;
  const bool no_room = last.status == 429 || last.status == 503;
  if (no_room)
    return last.retry_after_s > 0.0 ? std::min(last.retry_after_s, longest_pause_s) : 1.0;
  return last.status == 0 ? 0.1 : 0.0;
}

}  // namespace

LoadRun::LoadRun(Transport& transport, LoadSettings settings, Workload load,
                 std::optional<Workload> background, OnProgress on_progress)
    : transport_(transport),
      settings_(std::move(settings)),
      load_{std::move(load), &result_.records},
      on_progress_(std::move(on_progress)) {
  if (background) background_ = Lane{std::move(*background), &result_.background};
}

LoadResult LoadRun::run() {
  tick(transport_.now());
  if (settings_.warm_up > 0) {
    progress_.warms_up = true;
    const int64_t clients =
        load_.workload.is_closed() ? load_.workload.spec().concurrency : most_warm_ups_at_once;
    for (int64_t i = 0; i < std::min(clients, settings_.warm_up); ++i) warm_up_next();
  } else {
    begin();
  }
  transport_.run();
  result_.timer_lag_s = percentiles_of(std::move(timer_lags_));
  return std::move(result_);
}

void LoadRun::stop() {
  transport_.post([this] {
    result_.stopped = true;
    end();
  });
}

void LoadRun::warm_up_next() {
  if (warm_ups_sent_ == settings_.warm_up) return;
  const RequestPlan plan = load_.workload.warm_up(warm_ups_sent_++);
  Record record;
  record.scheduled_s = record.sent_s = transport_.now();
  auto reader = std::make_shared<AnswerReader>(
      transport_, std::move(record), std::nullopt, [this](const Record& done) {
        result_.warm_up_failed += done.outcome == Outcome::failed ? 1 : 0;
        ++warm_ups_done_;
        if (ended_) return;
        if (warm_ups_done_ == settings_.warm_up) return begin();
        warm_up_next();
      });
  transport_.start({"POST", settings_.path, body_of(plan)}, std::move(reader));
}

void LoadRun::begin() {
  progress_.warms_up = false;
  result_.start_s = transport_.now();
  if (background_) start(*background_);
  start(load_);
}

void LoadRun::start(Lane& lane) {
  if (!lane.workload.is_closed()) return arm_next_arrival(lane);
  for (int i = 0; i < lane.workload.spec().concurrency; ++i) next_of_client(lane);
}

void LoadRun::next_of_client(Lane& lane) {
  if (ended_) return;
  const double now = transport_.now();
  std::optional<RequestPlan> plan;
  if (now - result_.start_s < lane.workload.spec().duration_s) plan = lane.workload.next();
  if (!plan) {
    lane.over = true;
    return end_if_done();
  }
  send(lane, *plan, body_of(*plan), now);
}

void LoadRun::client_is_free(Lane& lane, const Record& last) {
  if (lane.workload.is_over()) {
    lane.over = true;
    return end_if_done();
  }
  const double pause = pause_after(last);
  if (pause == 0.0) return next_of_client(lane);
  transport_.at(transport_.now() + pause, [this, &lane] { next_of_client(lane); });
}

// The schedule is the load's own: whatever the server or this program does late, the next arrival's
// time stays. Its body is written before it is due.
void LoadRun::arm_next_arrival(Lane& lane) {
  std::optional<RequestPlan> plan = lane.workload.next();
  if (!plan) {
    lane.over = true;
    return end_if_done();
  }
  std::string body = body_of(*plan);
  const double due_s = result_.start_s + plan->at_s;
  transport_.at(due_s,
                [this, &lane, plan = std::move(*plan), body = std::move(body), due_s]() mutable {
                  send(lane, plan, std::move(body), due_s);
                  arm_next_arrival(lane);
                });
}

std::string LoadRun::body_of(const RequestPlan& plan) const {
  const uint64_t seed = load_.workload.spec().seed;
  return fmt::format(R"({{{},"max_tokens":{},{}}})",
                     prompt_member(plan.prompt, settings_.style, seed), plan.output,
                     settings_.members);
}

void LoadRun::send(Lane& lane, const RequestPlan& plan, std::string body, double scheduled_s) {
  Record record;
  record.number = plan.number;
  record.scheduled_s = scheduled_s;
  record.sent_s = transport_.now();
  record.asked_input = plan.input;
  record.asked_output = plan.output;
  ++lane.in_flight;
  auto reader = std::make_shared<AnswerReader>(
      transport_, std::move(record), plan.cancel_after,
      [this, &lane](Record done) { on_done(lane, std::move(done)); });
  transport_.start({"POST", settings_.path, std::move(body)}, std::move(reader));
}

void LoadRun::on_done(Lane& lane, Record record) {
  --lane.in_flight;
  lane.records->push_back(std::move(record));
  const Record& done = lane.records->back();
  if (&lane == &load_) {
    ++progress_.finished;
    progress_.failed += done.outcome == Outcome::failed ? 1 : 0;
    progress_.output_tokens += done.output_tokens;
  }
  if (ended_) return;
  if (lane.workload.is_closed()) return client_is_free(lane, done);
  end_if_done();
}

void LoadRun::end_if_done() {
  if (load_.over && load_.in_flight == 0) end();
}

void LoadRun::end() {
  ended_ = true;
  transport_.hang_up();
}

void LoadRun::tick(double due_s) {
  const double now = transport_.now();
  timer_lags_.push_back(now - due_s);
  if (on_progress_ && now >= next_progress_s_) {
    next_progress_s_ = now + progress_s;
    progress_.elapsed_s = now - result_.start_s;
    progress_.in_flight = load_.in_flight;
    on_progress_(progress_);
  }
  transport_.at(now + tick_s, [this, next = now + tick_s] { tick(next); });
}

}  // namespace dure::load
