// What a load asks for: a pure function of its settings and its seed.
#include "load/workload.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <set>

#include "base/error.h"

namespace dure::load {
namespace {

std::vector<RequestPlan> all_of(WorkloadSpec spec) {
  Workload workload(std::move(spec));
  std::vector<RequestPlan> plans;
  while (auto plan = workload.next()) plans.push_back(std::move(*plan));
  EXPECT_TRUE(workload.is_over());
  return plans;
}

WorkloadSpec open_loop(double rate, int64_t requests, uint64_t seed = 1) {
  WorkloadSpec spec;
  spec.concurrency = 0;
  spec.rate = rate;
  spec.requests = requests;
  spec.seed = seed;
  return spec;
}

const std::vector<Piece>& pieces_of(const RequestPlan& plan) {
  return std::get<std::vector<Piece>>(plan.prompt);
}

std::string written(const RequestPlan& plan) {
  PromptStyle style;
  style.alphabet = {5, 6, 7, 8, 9};
  return prompt_member(plan.prompt, style, 1);
}

TEST(Workload, ArrivalsOfAPoissonProcessHaveItsMeanAndSpread) {
  const std::vector<RequestPlan> plans = all_of(open_loop(8.0, 20000));
  std::vector<double> gaps;
  double before = 0.0;
  for (const RequestPlan& plan : plans) {
    ASSERT_GE(plan.at_s, before);
    gaps.push_back(plan.at_s - before);
    before = plan.at_s;
  }
  const double mean = before / 20000.0;
  double squares = 0.0;
  for (const double gap : gaps) squares += (gap - mean) * (gap - mean);
  // An exponential's deviation is its mean; five standard errors of each.
  EXPECT_NEAR(mean, 1.0 / 8.0, 5.0 / 8.0 / std::sqrt(20000.0));
  EXPECT_NEAR(std::sqrt(squares / 20000.0), 1.0 / 8.0, 0.01);
}

TEST(Workload, IsTheSameForASeedAndAnotherForAnother) {
  const auto first = all_of(open_loop(8.0, 50));
  const auto again = all_of(open_loop(8.0, 50));
  const auto other = all_of(open_loop(8.0, 50, 2));
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].at_s, again[i].at_s);
    EXPECT_EQ(written(first[i]), written(again[i]));
    EXPECT_NE(first[i].at_s, other[i].at_s);
  }
}

TEST(Workload, ARequestDoesNotDependOnHowManyThereAreNorOnTheLoop) {
  WorkloadSpec closed;
  closed.input = Lengths::parse("20..3000", "--input");
  closed.requests = 10;
  WorkloadSpec open = open_loop(3.0, 500);
  open.input = closed.input;
  const auto few = all_of(closed);
  const auto many = all_of(open);
  ASSERT_EQ(few.size(), 10);
  for (size_t i = 0; i < few.size(); ++i) EXPECT_EQ(written(few[i]), written(many[i]));
}

TEST(Workload, AllAtOnceIsAnInfiniteRate) {
  for (const RequestPlan& plan : all_of(open_loop(INFINITY, 5))) EXPECT_EQ(plan.at_s, 0.0);
}

TEST(Workload, NothingIsDueAfterTheDuration) {
  WorkloadSpec spec = open_loop(10.0, 1'000'000);
  spec.duration_s = 20.0;
  const auto plans = all_of(spec);
  EXPECT_NEAR(static_cast<double>(plans.size()), 200.0, 71.0);  // five deviations
  EXPECT_LT(plans.back().at_s, 20.0);
}

TEST(Workload, SharedPrefixesBeginAlikeWithinAGroupAndDifferOtherwise) {
  WorkloadSpec spec;
  spec.shared = SharedPrefix::parse("15x5x150", "--shared-prefix");
  spec.input = Lengths(20);
  spec.requests = 75;
  std::map<uint64_t, int> groups;
  std::set<uint64_t> own;
  for (const RequestPlan& plan : all_of(spec)) {
    ASSERT_EQ(pieces_of(plan).size(), 2);
    EXPECT_EQ(plan.input, 170);
    EXPECT_EQ(pieces_of(plan)[0].tokens, 150);
    ++groups[pieces_of(plan)[0].key];
    own.insert(pieces_of(plan)[1].key);
  }
  EXPECT_EQ(groups.size(), 15);
  for (const auto& [key, prompts] : groups) EXPECT_EQ(prompts, 5);
  EXPECT_EQ(own.size(), 75);
  for (const char* bad : {"", "5", "5x5", "5x5x", "0x5x5", "5x5x-1", "axbxc", "5x5x99999999999",
                          "99999999x99999999x1", "1x2x3x4"}) {
    EXPECT_THROW(SharedPrefix::parse(bad, "--shared-prefix"), Error) << bad;
  }
}

TEST(Workload, PromptsOfATraceShareTheBlocksWhoseHashesAgree) {
  WorkloadSpec spec;
  spec.concurrency = 0;
  spec.speed = 2.0;
  spec.trace = parse_trace(
      "{\"timestamp\":0,\"input_length\":1024,\"output_length\":3,\"hash_ids\":[8,9]}\n"
      "{\"timestamp\":3000,\"input_length\":700,\"output_length\":4,\"hash_ids\":[8,10]}\n",
      "t");
  const auto plans = all_of(spec);
  ASSERT_EQ(plans.size(), 2);
  EXPECT_EQ(plans[1].at_s, 1.5);
  EXPECT_EQ(plans[1].output, 4);
  EXPECT_EQ(plans[1].input, 700);
  const auto& first = pieces_of(plans[0]);
  const auto& second = pieces_of(plans[1]);
  EXPECT_EQ(first[0].key, second[0].key);
  EXPECT_NE(first[1].key, second[1].key);
  EXPECT_EQ(second[0].tokens, 512);
  EXPECT_EQ(second[1].tokens, 188);
  // And so do the tokens that are written.
  const std::string one = written(plans[0]);
  const std::string two = written(plans[1]);
  size_t same = 0;
  while (one[same] == two[same]) ++same;
  EXPECT_GE(same, std::string("\"prompt\":[").size() + 512 * 2 - 1);
  EXPECT_LT(same, two.size() / 2 + two.size() / 3);
}

TEST(Workload, WarmUpsHaveTheLengthsOfTheLoadAndShareNothingWithIt) {
  WorkloadSpec spec;
  spec.shared = SharedPrefix{2, 2, 100};
  spec.input = Lengths::parse("20..90", "--input");
  spec.requests = 4;
  spec.cancel_fraction = 1.0;
  Workload workload(spec);
  std::set<uint64_t> keys;
  std::vector<int64_t> lengths;
  while (auto plan = workload.next()) {
    for (const Piece& piece : pieces_of(*plan)) keys.insert(piece.key);
    lengths.push_back(plan->input);
  }
  for (int64_t i = 0; i < 4; ++i) {
    const RequestPlan plan = workload.warm_up(i);
    EXPECT_EQ(plan.input, lengths[static_cast<size_t>(i)]);
    EXPECT_FALSE(plan.cancel_after);
    for (const Piece& piece : pieces_of(plan)) EXPECT_EQ(keys.count(piece.key), 0);
  }
}

TEST(Workload, CancelsTheShareThatWasAsked) {
  WorkloadSpec spec;
  spec.requests = 4000;
  spec.output = Lengths(10);
  spec.cancel_fraction = 0.25;
  int cancelled = 0;
  std::set<int64_t> after;
  for (const RequestPlan& plan : all_of(spec)) {
    if (!plan.cancel_after) continue;
    ++cancelled;
    after.insert(*plan.cancel_after);
  }
  EXPECT_NEAR(cancelled, 1000, 137);  // five deviations
  EXPECT_EQ(after.size(), 10);
  EXPECT_EQ(*after.begin(), 0);
  EXPECT_EQ(*after.rbegin(), 9);
}

TEST(Workload, GivenPromptsComeInTurnWithTheirOwnLengths) {
  WorkloadSpec spec;
  spec.requests = 3;
  spec.prompts = parse_prompts("{\"prompt\":\"a\",\"output\":5}\n{\"prompt\":[1,2]}\n", "p", false);
  const auto plans = all_of(spec);
  ASSERT_EQ(plans.size(), 3);
  EXPECT_EQ(plans[0].output, 5);
  EXPECT_EQ(plans[1].output, 64);
  EXPECT_EQ(written(plans[1]), "\"prompt\":[1,2]");
  EXPECT_EQ(written(plans[2]), "\"prompt\":\"a\"");
}

}  // namespace
}  // namespace dure::load
