#include "plan/plan.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "model/testing.h"
#include "plan/cache_room.h"
#include "plan/testing.h"

namespace dure {
namespace {

using testing::answered;
using testing::asked;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::MatchesRegex;

const RejectedLayout* rejected(const PlanAnswer& answer, const Layout& layout) {
  const auto found = std::find_if(answer.rejected.begin(), answer.rejected.end(),
                                  [&](const RejectedLayout& r) { return r.layout == layout; });
  return found == answer.rejected.end() ? nullptr : &*found;
}

TEST(Plan, OfDeepSeekOnTwoNodesKeepsExpertsWholeAndSumsInsideNodes) {
  const PlanAnswer answer = answered(asked("deepseek-v3", "h200", 16, 256));
  ASSERT_TRUE(answer.met);
  const PlannedLayout& best = answer.ranked.front();
  EXPECT_LE(best.layout.tp, 8);
  EXPECT_EQ(best.layout.ep, best.layout.stage_ranks());
  EXPECT_GT(best.layout.ep, 1);
  EXPECT_EQ(best.gpus_used, 16);
  for (const PlannedLayout& each : answer.ranked) EXPECT_LE(each.layout.tp, 8);
  EXPECT_GT(best.service.tokens_per_s, answer.rule_of_thumb.planned->service.tokens_per_s);
  EXPECT_EQ(answer.rule_of_thumb.layout, (Layout{8, 2, 1, 1}));
  EXPECT_FALSE(answer.rule_of_thumb.difference.empty());
}

TEST(Plan, GivesAReasonWithItsNumbersForEveryLayoutThatIsNotRanked) {
  const PlanAnswer answer = answered(asked("deepseek-v3", "h200", 16, 256));
  EXPECT_EQ(answer.layouts, static_cast<int64_t>(answer.ranked.size() + answer.rejected.size()));
  for (const RejectedLayout& each : answer.rejected) {
    EXPECT_THAT(each.reason, MatchesRegex(".*[0-9].*")) << to_string(each.layout);
  }
  const RejectedLayout* one = rejected(answer, {1, 1, 1, 1});
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(one->why, RejectedFor::does_not_fit);
  EXPECT_THAT(
      one->reason,
      MatchesRegex("50.\\.. GiB missing: weights alone 62.\\.. GiB a rank, 125.8 GiB usable"));
  const RejectedLayout* wide = rejected(answer, {16, 1, 1, 1});
  ASSERT_NE(wide, nullptr);
  EXPECT_NE(wide->why, RejectedFor::does_not_fit);
  EXPECT_THAT(wide->reason, HasSubstr("tokens/s"));
}

TEST(Plan, SaysThatTensorParallelismOverNodesIsWhatTakesTheTime) {
  auto ask = asked("llama-3.1-70b", "h100", 16, 16);
  ask.question.nic = 3e9;
  ask.question.input = 4000;
  const PlanAnswer answer = answered(ask);
  const RejectedLayout* wide = rejected(answer, {16, 1, 1, 1});
  ASSERT_NE(wide, nullptr);
  EXPECT_EQ(wide->why, RejectedFor::crosses_nodes) << wide->reason;
  EXPECT_THAT(wide->reason, HasSubstr("tp 16 crosses nodes: sums over ranks take "));
}

TEST(Plan, OfASmallModelOnOneGpuIsOneRank) {
  const PlanAnswer answer = answered(asked("llama-3.1-8b", "h100", 1, 8));
  ASSERT_TRUE(answer.met);
  ASSERT_EQ(answer.ranked.size(), 1);
  EXPECT_EQ(answer.ranked[0].layout, Layout{});
  EXPECT_EQ(answer.ranked[0].ranks.size(), 1);
  EXPECT_TRUE(answer.rejected.empty());
  EXPECT_EQ(answer.rule_of_thumb.why, "it is the best one here");
  EXPECT_GT(answer.ranked[0].users_most, 8);
}

// 405B in bf16 are 812 GB: two nodes of 8 × 80 GB, and slow NICs between them.
TEST(Plan, TakesStagesWhereTheModelNeedsTwoNodes) {
  auto ask = asked("llama-3.1-405b", "h100", 16, 64);
  ask.question.nic = 3e9;
  const PlanAnswer over_nodes = answered(ask);
  ASSERT_TRUE(over_nodes.met);
  EXPECT_GE(over_nodes.ranked.front().layout.pp, 2);
  EXPECT_LE(over_nodes.ranked.front().layout.tp, 8);
}

TEST(Plan, TakesNoStagesForOneUserOnOneNode) {
  auto ask = asked("llama-3.1-70b", "h100", 8, 1);
  ask.question.objective = Objective::latency;
  const PlanAnswer answer = answered(ask);
  ASSERT_TRUE(answer.met);
  EXPECT_EQ(answer.ranked.front().layout, (Layout{8, 1, 1, 1}));
}

TEST(Plan, NeedsTheMemoryThatFitSays) {
  const auto ask = asked("deepseek-v3", "h200", 16, 256);
  const PlanAnswer answer = answered(ask);
  const MemoryModel memory(ask.spec, ask.question.weights);
  for (const PlannedLayout& each : answer.ranked) {
    const int64_t groups = int64_t{each.replicas} * each.layout.dp;
    const int64_t in_flight = (256 + groups - 1) / groups * each.layout.dp;
    const FitAnswer again =
        fit(memory, fit_question(ask.question, each.layout, each.kv, each.chunk, in_flight));
    ASSERT_TRUE(again.fits);
    ASSERT_EQ(again.ranks.size(), each.ranks.size());
    for (size_t rank = 0; rank < again.ranks.size(); ++rank) {
      EXPECT_EQ(each.ranks[rank].memory.total(), again.ranks[rank].memory.total());
      EXPECT_EQ(each.ranks[rank].memory.kv, again.ranks[rank].memory.kv);
      EXPECT_EQ(each.ranks[rank].free, again.ranks[rank].free);
      EXPECT_GE(each.ranks[rank].free, 0);
    }
  }
}

TEST(Plan, GivesNoFewerTokensOnMoreGpus) {
  for (const char* name : {"llama-3.1-8b", "qwen3-30b-a3b"}) {
    double least = 0.0;
    for (const int gpus : {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24}) {
      const PlanAnswer answer = answered(asked(name, "h100", gpus, 64));
      ASSERT_TRUE(answer.met) << name << gpus;
      const double tokens = answer.ranked.front().service.tokens_per_s;
      EXPECT_GE(tokens, 0.999 * least) << name << " on " << gpus;
      least = std::max(least, tokens);
    }
  }
}

TEST(Plan, GivesNoMoreTokensUnderTighterLimits) {
  auto ask = asked("qwen3-30b-a3b", "h100", 4, 128);
  double most = 1e300;
  bool met = true;
  for (const double limit : {0.1, 0.03, 0.02, 0.015, 0.01, 0.005, 0.002}) {
    ask.question.tpot_limit = limit;
    const PlanAnswer answer = answered(ask);
    EXPECT_TRUE(met || !answer.met) << limit;  // not again, once it is out of reach
    met = answer.met;
    if (!met) continue;
    EXPECT_LE(answer.ranked.front().service.tpot, limit);
    EXPECT_LE(answer.ranked.front().service.tokens_per_s, 1.001 * most) << limit;
    most = answer.ranked.front().service.tokens_per_s;
  }
  EXPECT_FALSE(met);
}

TEST(Plan, SaysWhatComesClosestToLimitsThatNothingKeeps) {
  auto ask = asked("llama-3.1-70b", "h100", 8, 64);
  ask.question.tpot_limit = 0.001;
  ask.question.ttft_limit = 1.0;
  const PlanAnswer answer = answered(ask);
  EXPECT_FALSE(answer.met);
  EXPECT_TRUE(answer.ranked.empty());
  ASSERT_TRUE(answer.closest);
  EXPECT_THAT(answer.closest->miss, HasSubstr("above the limit of 1.00 ms"));
  EXPECT_THAT(answer.verdict, HasSubstr("no layout keeps the limits; the closest, "));
  for (const RejectedLayout& each : answer.rejected) {
    EXPECT_NE(each.why, RejectedFor::slower) << each.reason;
  }
}

TEST(Plan, SaysThatNothingHoldsTheModel) {
  const PlanAnswer answer = answered(asked("llama-3.1-405b", "h100", 8, 1));
  EXPECT_FALSE(answer.met);
  EXPECT_FALSE(answer.closest);
  EXPECT_EQ(answer.verdict, "no layout of 8 × h100 holds the model");
  EXPECT_THAT(answer.rule_of_thumb.why, HasSubstr("GiB missing: weights alone 94.5"));
}

TEST(Plan, LetsRequestsWaitWhereTheirNumberWouldBreakTheLimit) {
  auto ask = asked("llama-3.1-70b", "h100", 8, 512);
  const PlanAnswer free = answered(ask);
  ask.question.tpot_limit = 0.6 * answered(ask).ranked.front().service.tpot;
  for (const PlannedLayout& each : free.ranked) {
    ask.question.tpot_limit = std::min(ask.question.tpot_limit, 0.6 * each.service.tpot);
  }
  const PlanAnswer answer = answered(ask);
  ASSERT_TRUE(answer.met) << answer.verdict;
  EXPECT_LE(answer.ranked.front().service.tpot, ask.question.tpot_limit);
  EXPECT_GT(answer.ranked.front().service.ttft, free.ranked.front().service.ttft);
}

// Tight limits are kept by letting requests wait: looser ones must not end that.
TEST(Plan, GivesNoFewerTokensUnderALooserLimit) {
  auto ask = asked("deepseek-v3", "h200", 16, 64);
  ask.question.input = 20'000;
  ask.question.output = 100;
  double tighter = 0.0;
  for (const double limit : {0.05, 0.08, 0.15, 0.3}) {
    ask.question.tpot_limit = limit;
    const PlanAnswer answer = answered(ask);
    ASSERT_TRUE(answer.met) << limit;
    EXPECT_GE(answer.ranked[0].service.tokens_per_s, 0.999 * tighter) << limit;
    tighter = answer.ranked[0].service.tokens_per_s;
  }
}

// "slower" for an operation that takes less would be no reason.
TEST(Plan, NamesWhatALayoutTakesLongerFor) {
  const auto ask = asked("deepseek-v3", "h200", 16, 256);
  for (const RejectedLayout& each : answered(ask).rejected) {
    const size_t at = each.reason.find(" instead of ");
    if (at == std::string::npos || each.why != RejectedFor::slower) continue;
    const auto seconds = [&](size_t from) {
      const std::string text = each.reason.substr(from);
      const double unit = text.find("µs") < 9 ? 1e-6 : text.find("ms") < 9 ? 1e-3 : 1.0;
      return std::stod(text) * unit;
    };
    const size_t number = each.reason.rfind(' ', each.reason.rfind(' ', at - 1) - 1) + 1;
    EXPECT_GT(seconds(each.reason.find_first_of("0123456789", number)), seconds(at + 12))
        << each.reason;
  }
}

TEST(Plan, SaysWhichOfItsTraitsNoMeasuredRunHad) {
  EXPECT_THAT(answered(asked("llama-3.1-70b", "h100", 8, 64)).ranked[0].unmeasured, IsEmpty());
  auto ask = asked("gpt-oss-120b", "a100-80", 4, 32);
  ask.question.input = 20'000;
  const PlanAnswer answer = answered(ask);
  ASSERT_TRUE(answer.met);
  EXPECT_THAT(answer.ranked[0].unmeasured,
              IsSupersetOf({"GPU a100-80", "weights mxfp4",
                            "layers that keep a state, a window or a choice of keys",
                            "prompts of 20,000 tokens"}));
  auto own = asked("llama-3.1-8b", "h100", 1, 4);
  own.question.engine = Engine::dure;
  EXPECT_THAT(answered(own).ranked[0].unmeasured, ElementsAre("engine dure"));
  const PlanAnswer stages = answered(asked("kimi-k2", "h200", 8, 4));
  ASSERT_TRUE(stages.met);
  ASSERT_GT(stages.ranked[0].layout.pp, 1);
  EXPECT_THAT(stages.ranked[0].unmeasured,
              Contains("pp " + std::to_string(stages.ranked[0].layout.pp)));
  EXPECT_THAT(answered(asked("deepseek-v3", "h200", 16, 64)).ranked[0].unmeasured,
              ElementsAre("replicas over 2 nodes"));
}

TEST(Plan, ForCostUsesNoMoreGpusThanTheLimitNeeds) {
  auto ask = asked("llama-3.1-8b", "h100", 16, 64);
  ask.question.tpot_limit = 0.02;
  const PlanAnswer all = answered(ask);
  ask.question.objective = Objective::cost;
  const PlanAnswer cheap = answered(ask);
  ASSERT_TRUE(cheap.met);
  EXPECT_LT(cheap.ranked.front().gpus_used, 16);
  EXPECT_LE(cheap.ranked.front().service.tpot, 0.02);
  EXPECT_GT(cheap.ranked.front().service.per_gpu, all.ranked.front().service.per_gpu);
}

TEST(Plan, HoldsAsManyUsersAsTheLimitsAllow) {
  auto ask = asked("llama-3.1-8b", "h100", 1, 8);
  ask.question.tpot_limit = 0.015;
  const PlannedLayout best = answered(ask).ranked.front();
  EXPECT_EQ(best.users_end, "TPOT");
  ask.question.concurrency = best.users_most;
  EXPECT_LE(answered(ask).ranked.front().service.tpot, 0.015);
  ask.question.concurrency = best.users_most + 1;
  const PlanAnswer more = answered(ask);
  EXPECT_TRUE(!more.met || more.ranked.front().service.ttft > best.service.ttft);
}

// A prefill-only load, as of classifiers and rerankers: nobody decodes.
TEST(Plan, SaysOfEveryWayOutWhetherItKeepsTheLimits) {
  auto ask = asked("llama-3.1-8b", "h100", 4, 64);
  ask.question.alternatives = ask.question.disaggregate = true;
  for (const Alternative& way : answered(ask).alternatives) {
    // Nothing limits: all that can be done at all keeps the limits.
    EXPECT_EQ(way.meets_limits, way.applies) << way.title;
  }
}

TEST(Plan, OfAnswersOfOneTokenHasNoTimePerToken) {
  for (const Engine engine : {Engine::vllm, Engine::dure}) {
    auto ask = asked("llama-3.1-8b", "h100", 2, 8);
    ask.question.output = 1;
    ask.question.engine = engine;
    ask.question.alternatives = ask.question.disaggregate = true;
    const PlanAnswer answer = answered(ask);
    ASSERT_FALSE(answer.ranked.empty());
    const Service& service = answer.ranked[0].service;
    EXPECT_GT(service.ttft, 0.0);
    EXPECT_GT(service.tokens_per_s, 0.0);
    EXPECT_EQ(service.tpot, 0.0);
    EXPECT_EQ(service.per_user, 0.0);
    EXPECT_EQ(service.users, 0.0);
  }
}

TEST(Plan, NamesGpusThatAreIdleAndNodesThatAreUnequal) {
  const PlanAnswer answer = answered(asked("qwen3-30b-a3b", "h100", 12, 64));
  ASSERT_FALSE(answer.notes.empty());
  EXPECT_THAT(answer.notes[0], HasSubstr("12 GPUs are 1 of 8 a node and 4 on one more"));
  const RejectedLayout* unequal = rejected(answer, {1, 1, 12, 12});
  ASSERT_NE(unequal, nullptr);
  EXPECT_EQ(unequal->why, RejectedFor::placement);
}

TEST(Plan, OfARateTakesAsManyInFlightAsServeIt) {
  auto ask = asked("llama-3.1-8b", "h100", 2, 0);
  ask.question.rate = 4.0;
  const PlannedLayout best = answered(ask).ranked.front();
  EXPECT_DOUBLE_EQ(best.service.requests_per_s, 4.0);
  EXPECT_DOUBLE_EQ(best.service.tokens_per_s, 2000.0);
  // Little's law, to a request in each of two replicas.
  EXPECT_NEAR(best.service.in_flight, 4.0 * best.service.request_seconds, 4.0);
  ask.question.concurrency = std::lround(best.service.in_flight);
  ask.question.rate = 0.0;
  EXPECT_GE(answered(ask).ranked.front().service.requests_per_s, 4.0);
}

TEST(Plan, SaysHowMuchOfARateIsServedWhereNotAllIs) {
  auto ask = asked("llama-3.1-70b", "h100", 4, 0);
  ask.question.rate = 100.0;
  const PlanAnswer answer = answered(ask);
  EXPECT_FALSE(answer.met);
  ASSERT_TRUE(answer.closest);
  EXPECT_THAT(answer.closest->miss, HasSubstr(" of 100.00 requests/s"));
  for (const RejectedLayout& each : answer.rejected) {
    EXPECT_TRUE(each.why == RejectedFor::rate || each.why == RejectedFor::does_not_fit);
  }
}

TEST(Plan, ForCostAtARateUsesNoMoreGpusThanKeepUp) {
  auto ask = asked("llama-3.1-8b", "h100", 16, 0);
  ask.question.objective = Objective::cost;
  int least = 0;
  for (const double rate : {1.0, 10.0, 30.0}) {
    ask.question.rate = rate;
    const PlanAnswer answer = answered(ask);
    ASSERT_TRUE(answer.met) << rate;
    EXPECT_GE(answer.ranked.front().gpus_used, least);
    least = answer.ranked.front().gpus_used;
  }
  EXPECT_GT(least, 1);
}

TEST(Plan, RefusesQuestionsWithoutMeaning) {
  auto ask = asked("llama-3.1-8b", "h100", 8, 8);
  ask.question.gpu = find_gpu("80GB");
  EXPECT_THAT(error_of([&] { answered(ask); }).message(), HasSubstr("says nothing about speed"));
  ask = asked("llama-3.1-8b", "h100", 8, 0);
  EXPECT_THAT(error_of([&] { answered(ask); }).message(), HasSubstr("no load"));
  ask.question.concurrency = 8;
  ask.question.rate = 1.0;
  EXPECT_THAT(error_of([&] { answered(ask); }).message(), HasSubstr("both say the load"));
  for (int64_t PlanQuestion::*field :
       {&PlanQuestion::input, &PlanQuestion::output, &PlanQuestion::concurrency}) {
    ask = asked("llama-3.1-8b", "h100", 8, 8);
    ask.question.*field = -1;
    EXPECT_EQ(error_of([&] { answered(ask); }).code(), ErrorCode::bad_input);
  }
}

}  // namespace
}  // namespace dure
