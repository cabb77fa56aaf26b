// Random submissions, cancellations, steps, holds, deaths of the ranks and isolations against a
// model that remembers what every place of every page holds: no sequence ever reads a token that is
// not its own, all end with the tokens of an undisturbed run, nothing is leaked, everything ends.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "base/error.h"
#include "schedule/scheduler.h"

namespace dure {
namespace {

constexpr int32_t vocab = 50;

// What a place of a page holds: a digest of all tokens up to it, and of the kind of rotation.
uint64_t digest(uint64_t before, int32_t token) {
  return (before ^ static_cast<uint64_t>(token + 1)) * 1099511628211u + 77;
}

// A stand-in for the model.
int32_t next_token(uint64_t prefix) {
  return static_cast<int32_t>((prefix >> 13) % vocab);
}

// What the test knows of a live sequence.
struct Expected {
  std::vector<int32_t> tokens;
  size_t prompt = 0;
  int32_t max_tokens = 0;
  std::string salt;
  int in_flight = 0;
};

class Driver {
 public:
  Driver(const ScheduleOptions& options, uint32_t seed)
      : options_(options), scheduler_(options), random_(seed) {}

  void operations(int count) {
    for (int i = 0; i < count && !::testing::Test::HasFatalFailure(); ++i) {
      const uint32_t choice = random_() % 400;
      if (choice == 0) {
        lose_ranks();
      } else if (choice < 4 && last_id_ > 0) {
        scheduler_.isolate(1 + random_() % last_id_);
      } else if (choice < 12 && last_id_ > 0) {
        hold();
      } else if (choice < 24) {
        release();
      } else if (choice < 100) {
        submit();
      } else if (choice < 130) {
        cancel();
      } else if (choice < 280) {
        plan();
      } else {
        complete();
      }
    }
  }

  void drain() {
    while (!held_.empty()) release();
    int rounds = 0;
    while ((!live_.empty() || !out_.empty()) && !::testing::Test::HasFatalFailure()) {
      plan();
      complete();
      ASSERT_LT(++rounds, 2'000'000) << "the scheduler does not finish its sequences";
    }
    EXPECT_EQ(scheduler_.counts().held_pages, 0);
    EXPECT_EQ(scheduler_.waiting(), 0);
    EXPECT_EQ(scheduler_.running(), 0);
    EXPECT_FALSE(scheduler_.next_step());
  }

  // A digest of all that came out, to compare two runs.
  uint64_t outcome() const { return outcome_; }
  int64_t finished() const { return finished_; }
  ScheduleCounts counts() const { return scheduler_.counts(); }

 private:
  void submit() {
    SequenceRequest request;
    request.id = ++last_id_;
    // Many begin alike, some are of another salt.
    const size_t common = random_() % 3 == 0 ? 0 : random_() % 25;
    const size_t length = common + random_() % 15;
    for (size_t i = 0; i < length; ++i) {
      request.prompt.push_back(i < common ? static_cast<int32_t>(i * 7 % vocab)
                                          : static_cast<int32_t>(random_() % vocab));
    }
    request.max_tokens = static_cast<int32_t>(random_() % 30);
    request.stop_ids = {3, 4};
    request.priority = static_cast<int32_t>(random_() % 3) - 1;
    request.tenant = std::string(1, static_cast<char>('a' + random_() % 4));
    request.cache_salt = random_() % 4 == 0 ? "salted" : "";
    Expected expected{request.prompt, length, request.max_tokens, request.cache_salt, 0};
    const bool valid =
        length > 0 && request.max_tokens > 0 &&
        static_cast<int64_t>(length) + request.max_tokens <= scheduler_.longest_sequence();
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
    live_.erase(id);
  }

  // Any, live or not, waiting, in a step or between two.
  void hold() {
    const uint64_t id = last_id_ - random_() % std::min<uint64_t>(last_id_, 20);
    scheduler_.hold(id);
    held_.insert(id);
  }

  void release() {
    if (held_.empty()) return;
    const auto any =
        std::next(held_.begin(), static_cast<std::ptrdiff_t>(random_() % held_.size()));
    scheduler_.release(*any);
    held_.erase(any);
  }

  void lose_ranks() {
    scheduler_.lose_ranks();
    out_.clear();
    content_.clear();
    states_.clear();
    for (auto& [id, expected] : live_) expected.in_flight = 0;
    EXPECT_EQ(scheduler_.counts().held_pages, 0);
    EXPECT_EQ(scheduler_.counts().idle_pages, 0);
  }

  uint64_t first_digest(const Expected& expected, const PlannedSlice& slice) const {
    const bool beyond = options_.recompute_beyond > 0 && slice.length > options_.recompute_beyond;
    return (beyond ? 1000u : 0u) + expected.salt.size();
  }

  void plan() {
    std::optional<StepPlan> plan = scheduler_.next_step();
    if (!plan) return;
    ASSERT_LT(static_cast<int32_t>(out_.size()), options_.steps_in_flight);
    std::map<int32_t, int32_t> tokens_of_dp;
    std::set<uint64_t> seen;
    for (const PlannedSlice& slice : plan->slices) {
      const auto found = live_.find(slice.sequence);
      ASSERT_NE(found, live_.end()) << "a slice of a dead sequence";
      ASSERT_TRUE(seen.insert(slice.sequence).second) << "twice in a step";
      ASSERT_FALSE(held_.contains(slice.sequence));
      Expected& expected = found->second;
      ASSERT_EQ(static_cast<size_t>(slice.length), expected.tokens.size());
      ASSERT_FALSE(slice.tokens.empty());
      const size_t end = static_cast<size_t>(slice.start) + slice.tokens.size();
      ASSERT_LE(end, expected.tokens.size());
      ASSERT_EQ(slice.wants_token, end == expected.tokens.size());
      expect_tables(slice, static_cast<int64_t>(end));
      tokens_of_dp[slice.dp] += static_cast<int32_t>(slice.tokens.size());
      ++expected.in_flight;
      own_state(slice);
      if (::testing::Test::HasFatalFailure()) return;
    }
    std::vector<int32_t> answers = compute(*plan);
    for (const auto& [dp, tokens] : tokens_of_dp) ASSERT_LE(tokens, options_.max_batch_tokens);
    out_.emplace_back(std::move(*plan), std::move(answers));
  }

  // What each class sees of the slice's first query on, and nothing before.
  void expect_tables(const PlannedSlice& slice, int64_t end) const {
    const int64_t blocks = (end + options_.page_tokens - 1) / options_.page_tokens;
    size_t table = 0;
    for (const PageClass& each : options_.page_classes) {
      for (int32_t i = 0; i < each.tables; ++i, ++table) {
        ASSERT_LT(table, slice.tables.size());
        const PlannedTable& at = slice.tables[table];
        ASSERT_EQ(at.first, each.first_block(slice.start, options_.page_tokens));
        ASSERT_EQ(at.first + static_cast<int64_t>(at.pages.size()), blocks);
      }
    }
    ASSERT_EQ(table, slice.tables.size());
  }

  // As a rank does in a layer of each table: all slices write, then all read what they see.
  std::vector<int32_t> compute(const StepPlan& plan) {
    std::vector<int32_t> answers;
    for (const PlannedSlice& slice : plan.slices) {
      const Expected& expected = live_.at(slice.sequence);
      const std::vector<uint64_t> digests = digests_of(expected, slice);
      for (size_t i = 0; i < slice.tokens.size(); ++i) {
        const auto position = static_cast<size_t>(slice.start) + i;
        EXPECT_EQ(slice.tokens[i], expected.tokens[position]);
        for (size_t table = 0; table < slice.tables.size(); ++table) {
          content_[place(slice, table, position)] = digests[position] + table;
        }
      }
      answers.push_back(slice.wants_token ? next_token(digests.back()) : -1);
    }
    for (const PlannedSlice& slice : plan.slices) {
      const std::vector<uint64_t> digests = digests_of(live_.at(slice.sequence), slice);
      size_t table = 0;
      for (const PageClass& each : options_.page_classes) {
        const int64_t seen = each.reach == 0 ? 0 : slice.start - each.reach + 1;
        for (int32_t i = 0; i < each.tables; ++i, ++table) {
          for (auto at = static_cast<size_t>(std::max<int64_t>(seen, 0)); at < digests.size();
               ++at) {
            if (content_[place(slice, table, at)] == digests[at] + table) continue;
            ADD_FAILURE() << "sequence " << slice.sequence << " reads what is not its own at " << at
                          << " of table " << table;
            return answers;
          }
        }
      }
    }
    return answers;
  }

  // Of the beginnings that end with each token up to the slice's last.
  std::vector<uint64_t> digests_of(const Expected& expected, const PlannedSlice& slice) const {
    std::vector<uint64_t> digests;
    uint64_t prefix = first_digest(expected, slice);
    const size_t end = static_cast<size_t>(slice.start) + slice.tokens.size();
    for (size_t at = 0; at < end; ++at) {
      prefix = digest(prefix, expected.tokens[at]);
      digests.push_back(prefix);
    }
    return digests;
  }

  std::tuple<int32_t, int32_t, int32_t> place(const PlannedSlice& slice, size_t table,
                                              size_t position) const {
    const PlannedTable& pages = slice.tables[table];
    const auto offset = static_cast<int32_t>(position) % options_.page_tokens;
    const auto block = static_cast<int32_t>(position) / options_.page_tokens;
    const int32_t page = pages.pages.at(static_cast<size_t>(block - pages.first));
    EXPECT_TRUE(page >= 0 && page < options_.pages);
    return {slice.dp, page, offset};
  }

  // A slot is one sequence's from the slice that enters it on.
  void own_state(const PlannedSlice& slice) {
    ASSERT_TRUE(slice.state >= 0 && slice.state < options_.max_running);
    uint64_t& owner = states_[{slice.dp, slice.state}];
    if (slice.enters) owner = slice.sequence;
    ASSERT_EQ(owner, slice.sequence) << "a slot that it did not enter";
  }

  void complete() {
    if (out_.empty()) return;
    const auto [plan, answers] = std::move(out_.front());
    out_.pop_front();
    size_t expected_events = 0;
    for (const PlannedSlice& slice : plan.slices) {
      const auto found = live_.find(slice.sequence);
      if (found == live_.end()) continue;
      --found->second.in_flight;
      expected_events += slice.wants_token ? 1 : 0;
    }
    const double seconds = 0.01 * static_cast<double>(1 + random_() % 5);
    const std::vector<TokenEvent> events = scheduler_.complete(plan.id, answers, seconds);
    ASSERT_EQ(events.size(), expected_events);
    for (const TokenEvent& event : events) {
      outcome_ =
          outcome_ * 1099511628211u + event.sequence * 64 + static_cast<uint64_t>(event.token);
      Expected& expected = live_.at(event.sequence);
      expected.tokens.push_back(event.token);
      const bool stop = event.token == 3 || event.token == 4;
      const bool length =
          expected.tokens.size() - expected.prompt == static_cast<size_t>(expected.max_tokens);
      ASSERT_EQ(event.finish, stop ? Finish::stop : length ? Finish::length : Finish::none);
      if (event.finish == Finish::none) continue;
      expect_undisturbed(expected);
      live_.erase(event.sequence);
      ++finished_;
    }
  }

  void expect_undisturbed(const Expected& expected) const {
    std::vector<int32_t> tokens(
        expected.tokens.begin(),
        expected.tokens.begin() + static_cast<std::ptrdiff_t>(expected.prompt));
    while (tokens.size() < expected.tokens.size()) {
      PlannedSlice as_if;
      as_if.length = static_cast<int32_t>(tokens.size());
      uint64_t prefix = first_digest(expected, as_if);
      for (const int32_t token : tokens) prefix = digest(prefix, token);
      tokens.push_back(next_token(prefix));
    }
    ASSERT_EQ(tokens, expected.tokens);
  }

  ScheduleOptions options_;
  Scheduler scheduler_;
  std::mt19937 random_;
  std::map<uint64_t, Expected> live_;
  std::deque<std::pair<StepPlan, std::vector<int32_t>>> out_;
  std::map<std::tuple<int32_t, int32_t, int32_t>, uint64_t> content_;  // dp, page, offset
  std::map<std::pair<int32_t, int32_t>, uint64_t> states_;             // dp, slot -> owner
  std::set<uint64_t> held_;
  uint64_t last_id_ = 0;
  uint64_t outcome_ = 0;
  int64_t finished_ = 0;
};

std::vector<ScheduleOptions> shapes() {
  std::vector<ScheduleOptions> made;
  for (const int32_t dp : {1, 3}) {
    for (const int32_t steps : {1, 2, 4}) {
      for (const int32_t pages : {5, 14, 60}) {
        ScheduleOptions options;
        options.dp = dp;
        options.steps_in_flight = steps;
        options.pages = pages;
        options.page_tokens = pages == 14 ? 3 : 5;
        options.max_batch_tokens = pages == 5 ? 3 : 24;
        options.max_running = 6;
        options.recompute_beyond = steps == 2 ? 20 : 0;
        options.share_prefixes = dp == 3 || pages != 14;
        options.stretch = steps == 4 ? 0.0 : 2.0;
        options.aging_tokens = 100;
        made.push_back(options);
        // Models with windows: beside layers that see all, or alone.
        options.page_classes = {{}, {.reach = pages == 14 ? 4 : 9, .tables = 2}};
        options.pages = 3 * pages;
        made.push_back(options);
        options.page_classes = {{.reach = 11}, {.reach = 1}};
        options.pages = 2 * pages + 6;
        made.push_back(options);
      }
    }
  }
  return made;
}

TEST(SchedulerProperty, HoldsOverAMillionRandomOperationsAndAlwaysDrains) {
  uint32_t seed = 10;
  ScheduleCounts sum;
  for (const ScheduleOptions& options : shapes()) {
    Driver run(options, seed++);
    run.operations(20'000);
    run.drain();
    EXPECT_GT(run.finished(), 100);
    sum.preemptions += run.counts().preemptions;
    sum.prefix_hits += run.counts().prefix_hits;
    if (HasFatalFailure()) return;
  }
  // The paths were taken.
  EXPECT_GT(sum.preemptions, 1'000);
  EXPECT_GT(sum.prefix_hits, 100'000);
}

TEST(SchedulerProperty, GivesTheSameStepsForTheSameOperations) {
  for (const ScheduleOptions& options : shapes()) {
    Driver first(options, 77);
    Driver second(options, 77);
    first.operations(3'000);
    second.operations(3'000);
    EXPECT_EQ(first.outcome(), second.outcome());
    EXPECT_NE(first.outcome(), 0u);
  }
}

}  // namespace
}  // namespace dure
