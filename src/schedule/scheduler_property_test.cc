// Random submissions, cancellations and steps against what must always hold: no page has two
// owners, every sequence's tokens are fed exactly once and in order, nothing is lost, everything
// ends.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "base/error.h"
#include "schedule/scheduler.h"

namespace dure {
namespace {

// What the test knows of a live sequence.
struct Expected {
  std::vector<int32_t> tokens;
  size_t prompt = 0;
  int32_t max_tokens = 0;
  size_t fed = 0;
  bool in_flight = false;
};

// A stand-in for the model: the next token is a hash of the position and the token before it.
int32_t next_token(const PlannedSlice& slice) {
  const uint32_t mixed = static_cast<uint32_t>(slice.tokens.back()) * 2654435761u +
                         static_cast<uint32_t>(slice.start) * 40503u;
  return static_cast<int32_t>((mixed >> 7) % 50);
}

class Driver {
 public:
  Driver(const ScheduleOptions& options, uint32_t seed)
      : options_(options), scheduler_(options), random_(seed) {}

  void operations(int count) {
    for (int i = 0; i < count && !::testing::Test::HasFatalFailure(); ++i) {
      switch (random_() % 8) {
        case 0:
        case 1:
          submit();
          break;
        case 2:
          cancel();
          break;
        case 3:
        case 4:
        case 5:
          plan();
          break;
        default:
          complete();
      }
    }
  }

  void drain() {
    int rounds = 0;
    while ((!live_.empty() || !out_.empty()) && !::testing::Test::HasFatalFailure()) {
      plan();
      complete();
      ASSERT_LT(++rounds, 2'000'000) << "the scheduler does not finish its sequences";
    }
    EXPECT_EQ(scheduler_.held_pages(), 0);
    EXPECT_EQ(scheduler_.waiting(), 0);
    EXPECT_EQ(scheduler_.running(), 0);
    EXPECT_FALSE(scheduler_.next_step());
  }

  // A digest of all that came out, to compare two runs.
  uint64_t digest() const { return digest_; }
  int64_t finished() const { return finished_; }

 private:
  void submit() {
    SequenceRequest request;
    request.id = ++last_id_;
    const size_t length = random_() % 40;
    for (size_t i = 0; i < length; ++i) {
      request.prompt.push_back(static_cast<int32_t>(random_() % 50));
    }
    request.max_tokens = static_cast<int32_t>(random_() % 30);
    request.stop_ids = {3, 4};
    Expected expected{request.prompt, length, request.max_tokens, 0, false};
    const bool valid = length > 0 && request.max_tokens > 0 &&
                       static_cast<int64_t>(length) + request.max_tokens <=
                           int64_t{options_.pages} * options_.page_tokens + 1;
    if (valid) {
      scheduler_.submit(std::move(request));
      live_[last_id_] = std::move(expected);
    } else {
      ASSERT_THROW(scheduler_.submit(std::move(request)), Error);
    }
  }

  void cancel() {
    if (last_id_ == 0) return;
    const uint64_t id = 1 + random_() % last_id_;
    scheduler_.cancel(id);
    const auto found = live_.find(id);
    if (found == live_.end()) return;
    if (found->second.in_flight) ghosts_.insert(id);
    live_.erase(found);
  }

  void plan() {
    std::optional<StepPlan> plan = scheduler_.next_step();
    if (!plan) return;
    ASSERT_LT(static_cast<int32_t>(out_.size()), options_.steps_in_flight);
    std::map<int32_t, int32_t> tokens_of_dp;
    for (const PlannedSlice& slice : plan->slices) {
      const auto found = live_.find(slice.sequence);
      ASSERT_NE(found, live_.end()) << "a slice of a dead sequence";
      Expected& expected = found->second;
      ASSERT_FALSE(expected.in_flight) << "in two steps at once";
      expected.in_flight = true;
      ASSERT_EQ(static_cast<size_t>(slice.start), expected.fed);
      ASSERT_FALSE(slice.tokens.empty());
      for (const int32_t token : slice.tokens) ASSERT_EQ(token, expected.tokens[expected.fed++]);
      ASSERT_EQ(static_cast<size_t>(slice.length), expected.tokens.size());
      ASSERT_EQ(slice.wants_token, expected.fed == expected.tokens.size());
      ASSERT_EQ(slice.pages.size(), (expected.fed + options_.page_tokens - 1) /
                                        static_cast<size_t>(options_.page_tokens));
      tokens_of_dp[slice.dp] += static_cast<int32_t>(slice.tokens.size());
      own_pages_and_state(slice);
    }
    for (const auto& [dp, tokens] : tokens_of_dp) ASSERT_LE(tokens, options_.max_batch_tokens);
    out_.push_back(std::move(*plan));
  }

  // A page or state belongs to one sequence from its first slice to the end of its last step.
  void own(uint64_t& owner, const PlannedSlice& slice) {
    const bool free = owner == 0 || owner == slice.sequence ||
                      (!live_.contains(owner) && !ghosts_.contains(owner));
    ASSERT_TRUE(free) << "of live sequence " << owner;
    owner = slice.sequence;
  }

  void own_pages_and_state(const PlannedSlice& slice) {
    for (const int32_t page : slice.pages) {
      ASSERT_TRUE(page >= 0 && page < options_.pages);
      own(page_owners_[{slice.dp, page}], slice);
    }
    ASSERT_TRUE(slice.state >= 0 && slice.state < options_.max_running);
    own(state_owners_[{slice.dp, slice.state}], slice);
  }

  void complete() {
    if (out_.empty()) return;
    const StepPlan plan = std::move(out_.front());
    out_.erase(out_.begin());
    std::vector<int32_t> tokens;
    size_t expected_events = 0;
    for (const PlannedSlice& slice : plan.slices) {
      tokens.push_back(slice.wants_token ? next_token(slice) : -1);
      expected_events += slice.wants_token && live_.contains(slice.sequence) ? 1 : 0;
    }
    const std::vector<TokenEvent> events = scheduler_.complete(plan.id, tokens);
    ASSERT_EQ(events.size(), expected_events);
    for (const PlannedSlice& slice : plan.slices) {
      ghosts_.erase(slice.sequence);
      if (live_.contains(slice.sequence)) live_[slice.sequence].in_flight = false;
    }
    for (const TokenEvent& event : events) {
      digest_ = digest_ * 1099511628211u + event.sequence * 64 + static_cast<uint64_t>(event.token);
      Expected& expected = live_.at(event.sequence);
      expected.tokens.push_back(event.token);
      const bool stop = event.token == 3 || event.token == 4;
      const bool length =
          expected.tokens.size() - expected.prompt == static_cast<size_t>(expected.max_tokens);
      ASSERT_EQ(event.finish, stop ? Finish::stop : length ? Finish::length : Finish::none);
      if (event.finish == Finish::none) {
        const auto beyond = static_cast<size_t>(options_.recompute_beyond);
        if (beyond > 0 && expected.tokens.size() == beyond + 1) expected.fed = 0;
        continue;
      }
      live_.erase(event.sequence);
      ++finished_;
    }
  }

  ScheduleOptions options_;
  Scheduler scheduler_;
  std::mt19937 random_;
  std::map<uint64_t, Expected> live_;
  std::set<uint64_t> ghosts_;  // cancelled while in flight
  std::vector<StepPlan> out_;
  std::map<std::pair<int32_t, int32_t>, uint64_t> page_owners_;
  std::map<std::pair<int32_t, int32_t>, uint64_t> state_owners_;
  uint64_t last_id_ = 0;
  uint64_t digest_ = 0;
  int64_t finished_ = 0;
};

std::vector<ScheduleOptions> shapes() {
  std::vector<ScheduleOptions> made;
  for (const int32_t dp : {1, 3}) {
    for (const int32_t steps : {1, 2, 4}) {
      for (const int32_t pages : {5, 40}) {
        ScheduleOptions options;
        options.dp = dp;
        options.steps_in_flight = steps;
        options.pages = pages;
        options.page_tokens = 5;
        options.max_batch_tokens = pages == 5 ? 3 : 24;
        options.max_running = 6;
        options.recompute_beyond = steps == 2 ? 20 : 0;
        made.push_back(options);
      }
    }
  }
  return made;
}

TEST(SchedulerProperty, HoldsOverRandomOperationsAndAlwaysDrains) {
  uint32_t seed = 10;
  for (const ScheduleOptions& options : shapes()) {
    Driver run(options, seed++);
    run.operations(20'000);
    run.drain();
    EXPECT_GT(run.finished(), 100);
    if (HasFatalFailure()) return;
  }
}

TEST(SchedulerProperty, GivesTheSameStepsForTheSameOperations) {
  for (const ScheduleOptions& options : shapes()) {
    Driver first(options, 77);
    Driver second(options, 77);
    first.operations(3'000);
    second.operations(3'000);
    EXPECT_EQ(first.digest(), second.digest());
    EXPECT_NE(first.digest(), 0u);
  }
}

}  // namespace
}  // namespace dure
