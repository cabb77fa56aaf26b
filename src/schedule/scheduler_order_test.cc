// Who goes first: classes, tenants, prefixes that are being computed, and who gives way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "schedule/scheduler.h"

namespace dure {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ScheduleOptions small() {
  ScheduleOptions options;
  options.page_tokens = 4;
  options.pages = 100;
  options.max_batch_tokens = 8;
  options.max_running = 4;
  return options;
}

// Prompts of different ids begin differently.
SequenceRequest request(uint64_t id, int32_t prompt, int32_t max_tokens) {
  SequenceRequest made;
  made.id = id;
  for (int32_t i = 0; i < prompt; ++i) {
    made.prompt.push_back(static_cast<int32_t>(id) * 1000 + i);
  }
  made.max_tokens = max_tokens;
  return made;
}

SequenceRequest of_tenant(SequenceRequest request, std::string tenant) {
  request.tenant = std::move(tenant);
  return request;
}

SequenceRequest of_class(SequenceRequest request, int32_t priority) {
  request.priority = priority;
  return request;
}

std::vector<uint64_t> members(const StepPlan& plan) {
  std::vector<uint64_t> ids;
  for (const PlannedSlice& slice : plan.slices) ids.push_back(slice.sequence);
  return ids;
}

std::vector<TokenEvent> answer(Scheduler& scheduler, const StepPlan& plan) {
  return scheduler.complete(plan.id, std::vector<int32_t>(plan.slices.size(), 7));
}

// Until nothing is left; the ids in the order of their ends.
std::vector<uint64_t> run_out(Scheduler& scheduler) {
  std::vector<uint64_t> ended;
  while (const auto plan = scheduler.next_step()) {
    for (const TokenEvent& event : answer(scheduler, *plan)) {
      if (event.finish != Finish::none) ended.push_back(event.sequence);
    }
  }
  return ended;
}

TEST(SchedulerOrder, AdmitsABetterClassFirst) {
  ScheduleOptions options = small();
  options.max_running = 1;
  Scheduler scheduler(options);
  scheduler.submit(of_class(request(1, 4, 1), 1));
  scheduler.submit(of_class(request(2, 4, 1), 0));
  scheduler.submit(of_class(request(3, 4, 1), -1));
  EXPECT_THAT(run_out(scheduler), ElementsAre(3, 2, 1));
}

TEST(SchedulerOrder, SendsAWorseClassBackWhereABetterOneFindsNoRoom) {
  ScheduleOptions options = small();
  options.max_running = 1;
  Scheduler scheduler(options);
  scheduler.submit(of_class(request(1, 4, 5), 1));
  answer(scheduler, *scheduler.next_step());
  scheduler.submit(of_class(request(2, 4, 1), 0));
  const StepPlan plan = *scheduler.next_step();
  EXPECT_THAT(members(plan), ElementsAre(2));
  EXPECT_EQ(scheduler.counts().preemptions, 1);
  answer(scheduler, plan);
  // It comes back with what it had produced, and finds its first page again.
  const StepPlan again = *scheduler.next_step();
  EXPECT_THAT(members(again), ElementsAre(1));
  EXPECT_TRUE(again.slices[0].enters);
  EXPECT_EQ(again.slices[0].start, 4);
  EXPECT_THAT(again.slices[0].tokens, ElementsAre(7));
}

TEST(SchedulerOrder, LetsAWorseClassGrowBetterWhileOthersAreServed) {
  ScheduleOptions options = small();
  options.max_running = 1;
  options.aging_tokens = 40;
  Scheduler scheduler(options);
  uint64_t next = 2;
  scheduler.submit(of_class(request(1, 4, 1), 1));
  std::vector<uint64_t> ended;
  for (int i = 0; i < 50 && !std::count(ended.begin(), ended.end(), 1u); ++i) {
    // There is always somebody better.
    while (scheduler.waiting() < 3) scheduler.submit(of_class(request(next++, 8, 1), 0));
    for (const TokenEvent& event : answer(scheduler, *scheduler.next_step())) {
      ended.push_back(event.sequence);
    }
  }
  EXPECT_EQ(ended.back(), 1u);
  EXPECT_GT(ended.size(), 3u);
}

// Half way to the best again and again: the last class of all is 20 halvings away.
TEST(SchedulerOrder, BringsTheWorstClassOfAllToItsTurn) {
  ScheduleOptions options = small();
  options.max_running = 1;
  options.aging_tokens = 40;
  Scheduler scheduler(options);
  uint64_t next = 2;
  scheduler.submit(of_class(request(1, 4, 1), 1'000'000));
  int64_t before = 0;
  for (bool ended = false; !ended; ++before) {
    ASSERT_LT(before, 150);  // of 9 tokens each; 800 pass in 20 halvings
    while (scheduler.waiting() < 3) scheduler.submit(of_class(request(next++, 8, 1), 0));
    for (const TokenEvent& event : answer(scheduler, *scheduler.next_step())) {
      ended = ended || event.sequence == 1;
    }
  }
  EXPECT_GT(before, 40);
}

// One tenant has sent much more, and sooner.
TEST(SchedulerOrder, SharesTokensBetweenTenantsNotRequests) {
  ScheduleOptions options = small();
  options.max_running = 2;
  Scheduler scheduler(options);
  uint64_t id = 0;
  for (int i = 0; i < 40; ++i) scheduler.submit(of_tenant(request(++id, 24, 6), "long"));
  const uint64_t longs = id;
  for (int i = 0; i < 160; ++i) scheduler.submit(of_tenant(request(++id, 6, 2), "short"));
  std::map<bool, int64_t> served;  // weighted as the paper does
  for (int i = 0; i < 150; ++i) {
    const StepPlan plan = *scheduler.next_step();
    for (const PlannedSlice& slice : plan.slices) {
      if (slice.start < (slice.sequence <= longs ? 24 : 6)) {
        served[slice.sequence <= longs] += static_cast<int64_t>(slice.tokens.size());
      }
    }
    for (const TokenEvent& event : answer(scheduler, plan)) served[event.sequence <= longs] += 2;
  }
  // Apart by no more than what the running sequences of one of them may take (paper, theorem 4.4).
  EXPECT_LE(std::abs(served[true] - served[false]), 2 * (24 + 2 * 6));
  EXPECT_GT(served[true], 100);
}

TEST(SchedulerOrder, WaitsForAPrefixThatIsBeingComputedAndLetsOthersPass) {
  Scheduler scheduler(small());
  SequenceRequest leader = request(1, 16, 2);
  SequenceRequest follower = leader;
  follower.id = 2;
  follower.prompt.back() = 5;
  scheduler.submit(leader);
  scheduler.submit(follower);
  scheduler.submit(request(3, 3, 1));
  const StepPlan first = *scheduler.next_step();
  EXPECT_THAT(members(first), ElementsAre(3, 1));
  answer(scheduler, first);
  const StepPlan second = *scheduler.next_step();  // the rest of the leader's
  EXPECT_THAT(members(second), ElementsAre(1));
  answer(scheduler, second);
  const StepPlan third = *scheduler.next_step();
  EXPECT_THAT(members(third), ElementsAre(1, 2));
  EXPECT_EQ(third.slices[1].start, 12);
  EXPECT_EQ(scheduler.counts().prefix_hits, 12);
  const std::vector<TokenEvent> events = answer(scheduler, third);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].sequence, 2u);
  EXPECT_EQ(events[1].reused, 12);
}

TEST(SchedulerOrder, LetsShortPromptsPassALongOneThatGoesOnAllTheSame) {
  Scheduler scheduler(small());
  scheduler.submit(request(1, 40, 1));
  const auto shares = [&] {
    const StepPlan plan = *scheduler.next_step();
    std::map<uint64_t, size_t> shares;
    for (const PlannedSlice& slice : plan.slices) shares[slice.sequence] = slice.tokens.size();
    answer(scheduler, plan);
    return shares;
  };
  using Shares = std::map<uint64_t, size_t>;
  EXPECT_EQ(shares(), (Shares{{1, 8}}));
  scheduler.submit(request(2, 11, 1));
  scheduler.submit(request(3, 3, 1));
  EXPECT_EQ(shares(), (Shares{{2, 5}, {3, 3}}));
  EXPECT_EQ(shares(), (Shares{{1, 2}, {2, 6}}));
  EXPECT_EQ(shares(), (Shares{{1, 8}}));
  size_t done = 18;
  for (uint64_t id = 4; done < 40; ++id) {  // one after another, for ever
    scheduler.submit(request(id, 8, 1));
    Shares next = shares();
    done += next[1];
    ASSERT_LT(id, 50u);
  }
}

// As long as there is more of it, the first to arrive is not held up by those of its length.
TEST(SchedulerOrder, GivesAllRoomToTheFirstOfEquallyLongPrompts) {
  Scheduler scheduler(small());
  for (uint64_t id = 1; id <= 3; ++id) scheduler.submit(request(id, 12, 1));
  EXPECT_THAT(run_out(scheduler), ElementsAre(1, 2, 3));
  scheduler.submit(request(4, 12, 1));
  scheduler.submit(request(5, 12, 1));
  EXPECT_THAT(members(*scheduler.next_step()), ElementsAre(4));
}

TEST(SchedulerOrder, DoesNotWaitForAPrefixWhoseOwnerLeft) {
  Scheduler scheduler(small());
  SequenceRequest leader = request(1, 16, 2);
  SequenceRequest follower = leader;
  follower.id = 2;
  scheduler.submit(leader);
  scheduler.submit(follower);
  answer(scheduler, *scheduler.next_step());
  scheduler.cancel(1);
  const StepPlan plan = *scheduler.next_step();
  EXPECT_THAT(members(plan), ElementsAre(2));
  EXPECT_EQ(plan.slices[0].start, 8);  // what was computed before it left
}

TEST(SchedulerOrder, SharesNothingBetweenSalts) {
  Scheduler scheduler(small());
  SequenceRequest one = request(1, 8, 1);
  SequenceRequest other = one;
  other.id = 2;
  other.cache_salt = "X";
  SequenceRequest named = one;  // a tenant's name is no salt
  named.id = 3;
  named.tenant = "X";
  scheduler.submit(one);
  answer(scheduler, *scheduler.next_step());
  scheduler.submit(other);
  scheduler.submit(named);
  run_out(scheduler);
  EXPECT_EQ(scheduler.counts().prefix_hits, 4);  // of the third, from the first
}

TEST(SchedulerOrder, TakesPagesFromTheLatestWhoKeepsItsPlace) {
  ScheduleOptions options = small();
  options.pages = 6;
  Scheduler scheduler(options);
  scheduler.submit(request(1, 7, 12));
  scheduler.submit(request(2, 7, 12));
  scheduler.submit(request(3, 7, 12));
  EXPECT_THAT(run_out(scheduler), ElementsAre(1, 2, 3));
  EXPECT_GT(scheduler.counts().preemptions, 0);
}

TEST(SchedulerOrder, SendsChunksOfOnePromptOneAfterAnotherThroughThePipeline) {
  ScheduleOptions options = small();
  options.steps_in_flight = 3;
  Scheduler scheduler(options);
  scheduler.submit(request(1, 20, 1));
  const StepPlan a = *scheduler.next_step();
  const StepPlan b = *scheduler.next_step();
  const StepPlan c = *scheduler.next_step();
  EXPECT_EQ(a.slices[0].start, 0);
  EXPECT_EQ(b.slices[0].start, 8);
  EXPECT_EQ(c.slices[0].start, 16);
  EXPECT_TRUE(c.slices[0].wants_token);
  EXPECT_FALSE(scheduler.next_step());
  EXPECT_THAT(answer(scheduler, a), IsEmpty());
  EXPECT_THAT(answer(scheduler, b), IsEmpty());
  EXPECT_EQ(answer(scheduler, c).size(), 1u);
}

TEST(SchedulerOrder, BeginsAgainWithTheSameTokensAfterRanksDied) {
  Scheduler scheduler(small());
  scheduler.submit(request(1, 4, 4));
  scheduler.submit(request(2, 4, 4));
  answer(scheduler, *scheduler.next_step());
  const StepPlan lost = *scheduler.next_step();
  EXPECT_THAT(members(lost), ElementsAre(1, 2));
  scheduler.lose_ranks();
  EXPECT_EQ(scheduler.counts().held_pages, 0);
  EXPECT_EQ(scheduler.waiting(), 2);
  const StepPlan again = *scheduler.next_step();
  ASSERT_FALSE(again.slices.empty());
  EXPECT_THAT(again.slices[0].tokens, ElementsAre(1000, 1001, 1002, 1003, 7));
  EXPECT_TRUE(again.slices[0].wants_token);
  answer(scheduler, again);
  EXPECT_THAT(run_out(scheduler), ElementsAre(1, 2));
}

TEST(SchedulerOrder, GivesASuspectStepsOfItsOwnUntilItsNextToken) {
  ScheduleOptions options = small();
  options.max_batch_tokens = 6;
  Scheduler scheduler(options);
  scheduler.submit(request(1, 3, 5));
  scheduler.submit(request(2, 8, 5));
  scheduler.isolate(2);
  StepPlan plan = *scheduler.next_step();
  EXPECT_THAT(members(plan), ElementsAre(2));
  answer(scheduler, plan);
  plan = *scheduler.next_step();
  EXPECT_THAT(members(plan), ElementsAre(2));
  EXPECT_TRUE(plan.slices[0].wants_token);
  answer(scheduler, plan);
  EXPECT_THAT(members(*scheduler.next_step()), ElementsAre(2, 1));
}

}  // namespace
}  // namespace dure
