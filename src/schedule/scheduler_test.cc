// The scheduler's rules one by one; random operations are in scheduler_property_test.cc.
#include "schedule/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace dure {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ScheduleOptions small() {
  ScheduleOptions options;
  options.page_tokens = 4;
  options.pages = 8;  // 32 tokens
  options.max_batch_tokens = 6;
  options.max_running = 4;
  return options;
}

SequenceRequest request(uint64_t id, int32_t prompt, int32_t max_tokens,
                        std::vector<int32_t> stop_ids = {}) {
  SequenceRequest made;
  made.id = id;
  for (int32_t i = 0; i < prompt; ++i) made.prompt.push_back(100 + i);
  made.max_tokens = max_tokens;
  made.stop_ids = std::move(stop_ids);
  return made;
}

std::vector<TokenEvent> answer(Scheduler& scheduler, const StepPlan& plan, int32_t token) {
  return scheduler.complete(plan.id, std::vector<int32_t>(plan.slices.size(), token));
}

TEST(Scheduler, CutsAPromptIntoChunksAndAsksForATokenOnlyAtItsEnd) {
  Scheduler scheduler(small());
  scheduler.submit(request(1, 8, 2));
  const StepPlan first = *scheduler.next_step();
  ASSERT_EQ(first.slices.size(), 1u);
  EXPECT_THAT(first.slices[0].tokens, ElementsAre(100, 101, 102, 103, 104, 105));
  EXPECT_FALSE(first.slices[0].wants_token);
  EXPECT_EQ(first.slices[0].tables[0].pages.size(), 2u);
  EXPECT_TRUE(answer(scheduler, first, -1).empty());

  const StepPlan second = *scheduler.next_step();
  EXPECT_EQ(second.slices[0].start, 6);
  EXPECT_THAT(second.slices[0].tokens, ElementsAre(106, 107));
  EXPECT_TRUE(second.slices[0].wants_token);
  EXPECT_EQ(answer(scheduler, second, 7).at(0).finish, Finish::none);

  const StepPlan third = *scheduler.next_step();
  EXPECT_EQ(third.slices[0].start, 8);
  EXPECT_THAT(third.slices[0].tokens, ElementsAre(7));
  EXPECT_EQ(third.slices[0].tables[0].pages.size(), 3u);
  const std::vector<TokenEvent> events = answer(scheduler, third, 9);
  EXPECT_EQ(events.at(0).token, 9);
  EXPECT_EQ(events.at(0).finish, Finish::length);
  EXPECT_EQ(scheduler.counts().held_pages, 0);
  EXPECT_FALSE(scheduler.next_step());
}

TEST(Scheduler, GoesOnWithoutWhoIsHeldAndFromThereWhenItIsReleased) {
  Scheduler scheduler(small());
  scheduler.submit(request(1, 3, 3));
  scheduler.submit(request(2, 3, 9));
  answer(scheduler, *scheduler.next_step(), 7);
  scheduler.hold(1);
  scheduler.submit(request(3, 2, 2));
  scheduler.hold(3);  // before it was admitted
  for (int i = 0; i < 3; ++i) {
    const StepPlan without = *scheduler.next_step();
    ASSERT_EQ(without.slices.size(), 1u);
    EXPECT_EQ(without.slices[0].sequence, 2u);
    answer(scheduler, without, 7);
  }
  EXPECT_EQ(scheduler.waiting(), 1);
  scheduler.release(1);
  scheduler.release(1);
  scheduler.release(3);
  const StepPlan all = *scheduler.next_step();
  ASSERT_EQ(all.slices.size(), 3u);
  EXPECT_EQ(all.slices[0].sequence, 2u);
  EXPECT_EQ(all.slices[1].sequence, 1u);
  EXPECT_EQ(all.slices[1].start, 3);
  EXPECT_EQ(all.slices[2].sequence, 3u);
}

TEST(Scheduler, StopsNobodyForOneThatIsHeldBeforeThem) {
  Scheduler scheduler(small());
  scheduler.submit(request(1, 6, 26));
  scheduler.hold(1);
  scheduler.isolate(1);
  scheduler.submit(request(2, 6, 26));
  EXPECT_EQ(scheduler.next_step()->slices.at(0).sequence, 2u);
  scheduler.hold(2);  // with a step in flight
  scheduler.complete(0, std::vector<int32_t>{7});
  EXPECT_FALSE(scheduler.next_step());
  scheduler.lose_ranks();
  EXPECT_FALSE(scheduler.next_step());
  scheduler.cancel(1);
  scheduler.release(1);
  scheduler.release(2);
  EXPECT_EQ(scheduler.next_step()->slices.at(0).sequence, 2u);
}

TEST(Scheduler, ComputesASequenceAnewWhenItGrowsBeyondTheGivenLength) {
  ScheduleOptions options = small();
  options.recompute_beyond = 7;
  Scheduler scheduler(options);
  scheduler.submit(request(1, 6, 4));
  answer(scheduler, *scheduler.next_step(), 7);
  const StepPlan seventh = *scheduler.next_step();
  EXPECT_EQ(seventh.slices.at(0).start, 6);
  EXPECT_EQ(seventh.slices.at(0).length, 7);
  answer(scheduler, seventh, 8);

  const StepPlan again = *scheduler.next_step();
  EXPECT_EQ(again.slices.at(0).start, 0);
  EXPECT_EQ(again.slices.at(0).length, 8);
  EXPECT_THAT(again.slices.at(0).tokens, ElementsAre(100, 101, 102, 103, 104, 105));
  EXPECT_FALSE(again.slices.at(0).wants_token);
  answer(scheduler, again, -1);
  const StepPlan rest = *scheduler.next_step();
  EXPECT_THAT(rest.slices.at(0).tokens, ElementsAre(7, 8));
  EXPECT_TRUE(rest.slices.at(0).wants_token);
  answer(scheduler, rest, 9);
  EXPECT_THAT(scheduler.next_step()->slices.at(0).tokens, ElementsAre(9));  // once is enough
}

TEST(Scheduler, EndsASequenceAtAStopIdEvenOnItsLastToken) {
  Scheduler scheduler(small());
  scheduler.submit(request(1, 2, 1, {5}));
  EXPECT_EQ(answer(scheduler, *scheduler.next_step(), 5).at(0).finish, Finish::stop);
}

TEST(Scheduler, DecodesBeforeItFillsAndNeverExceedsTheTokenBudget) {
  Scheduler scheduler(small());
  scheduler.submit(request(1, 2, 9));
  answer(scheduler, *scheduler.next_step(), 1);
  scheduler.submit(request(2, 9, 3));
  const StepPlan mixed = *scheduler.next_step();
  ASSERT_EQ(mixed.slices.size(), 2u);
  EXPECT_EQ(mixed.slices[0].sequence, 1u);
  EXPECT_EQ(mixed.slices[0].tokens.size(), 1u);
  EXPECT_EQ(mixed.slices[1].tokens.size(), 5u);
}

TEST(Scheduler, RefusesWhatCanNeverFitAndNamesBothNumbers) {
  Scheduler scheduler(small());
  try {
    scheduler.submit(request(1, 30, 4));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_THAT(error.message(), HasSubstr("34"));
    EXPECT_THAT(error.message(), HasSubstr("33"));
  }
  scheduler.submit(request(2, 30, 3));  // the 33rd token is never fed back
  EXPECT_TRUE(scheduler.next_step());
}

TEST(Scheduler, KeepsTheOrderOfArrivalWhenTheCacheIsFull) {
  ScheduleOptions options = small();
  options.share_prefixes = false;
  Scheduler scheduler(options);
  scheduler.submit(request(1, 16, 1));
  scheduler.submit(request(2, 30, 3));  // waits for all 8 pages
  scheduler.submit(request(3, 1, 1));   // would fit, but came later
  std::vector<uint64_t> finished;
  while (const std::optional<StepPlan> plan = scheduler.next_step()) {
    for (const TokenEvent& event : answer(scheduler, *plan, 1)) {
      if (event.finish != Finish::none) finished.push_back(event.sequence);
    }
  }
  EXPECT_THAT(finished, ElementsAre(1, 2, 3));
}

TEST(Scheduler, KeepsPagesOfACancelledSequenceUntilItsStepIsDone) {
  Scheduler scheduler(small());
  scheduler.submit(request(1, 4, 4));
  const StepPlan step = *scheduler.next_step();
  scheduler.cancel(1);
  EXPECT_EQ(scheduler.running(), 0);
  EXPECT_EQ(scheduler.counts().held_pages, 1);
  EXPECT_TRUE(answer(scheduler, step, 3).empty());
  EXPECT_EQ(scheduler.counts().held_pages, 0);
}

TEST(Scheduler, DealsRunningSequencesOverThePipelinesSteps) {
  ScheduleOptions options = small();
  options.steps_in_flight = 2;
  Scheduler scheduler(options);
  for (uint64_t id = 1; id <= 4; ++id) scheduler.submit(request(id, 1, 4));
  const StepPlan a = *scheduler.next_step();
  const StepPlan b = *scheduler.next_step();
  EXPECT_EQ(a.slices.size(), 2u);
  EXPECT_EQ(b.slices.size(), 2u);
  EXPECT_FALSE(scheduler.next_step());
  answer(scheduler, a, 1);
  const StepPlan c = *scheduler.next_step();
  EXPECT_EQ(c.slices.at(0).sequence, a.slices.at(0).sequence);
  EXPECT_EQ(c.slices.at(1).sequence, a.slices.at(1).sequence);
}

TEST(Scheduler, BalancesDpGroupsByTheTokensTheyHold) {
  ScheduleOptions options = small();
  options.dp = 2;
  Scheduler scheduler(options);
  scheduler.submit(request(1, 20, 4));
  scheduler.submit(request(2, 4, 1));
  scheduler.submit(request(3, 4, 1));
  const StepPlan plan = *scheduler.next_step();
  ASSERT_EQ(plan.slices.size(), 3u);
  EXPECT_EQ(plan.slices[0].sequence, 1u);
  EXPECT_EQ(plan.slices[1].dp, 1);
  EXPECT_EQ(plan.slices[2].dp, 1);
}

TEST(Scheduler, RefusesAnAnswerToAStepThatIsNotNext) {
  Scheduler scheduler(small());
  EXPECT_THROW(scheduler.complete(0, {}), Error);
  scheduler.submit(request(1, 4, 4));
  const StepPlan step = *scheduler.next_step();
  EXPECT_THROW(scheduler.complete(step.id + 1, std::vector<int32_t>{1}), Error);
  EXPECT_THROW(scheduler.complete(step.id, std::vector<int32_t>{1, 2}), Error);
  EXPECT_EQ(answer(scheduler, step, 1).size(), 1u);
}

}  // namespace
}  // namespace dure
