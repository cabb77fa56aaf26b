// The arithmetic, on records made by hand.
#include "load/summary.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace dure::load {
namespace {

Record answered(double scheduled_s, std::vector<double> arrivals_s) {
  Record record;
  record.scheduled_s = record.sent_s = scheduled_s;
  record.end_s = arrivals_s.empty() ? scheduled_s : arrivals_s.back();
  record.output_tokens = static_cast<int64_t>(arrivals_s.size());
  record.arrivals_s = std::move(arrivals_s);
  record.status = 200;
  return record;
}

Record failed(Trouble trouble, int status, std::string detail) {
  Record record;
  record.outcome = Outcome::failed;
  record.trouble = trouble;
  record.status = status;
  record.detail = std::move(detail);
  return record;
}

TEST(Percentiles, AreLinearBetweenTheNearestRanks) {
  std::vector<double> values;
  for (int i = 100; i >= 0; --i) values.push_back(i);
  const Percentiles found = percentiles_of(values);
  EXPECT_EQ(found.count, 101);
  EXPECT_DOUBLE_EQ(found.mean, 50.0);
  EXPECT_DOUBLE_EQ(found.p50, 50.0);
  EXPECT_DOUBLE_EQ(found.p90, 90.0);
  EXPECT_DOUBLE_EQ(found.p95, 95.0);
  EXPECT_DOUBLE_EQ(found.p99, 99.0);
  EXPECT_DOUBLE_EQ(found.max, 100.0);
  EXPECT_DOUBLE_EQ(percentiles_of({1.0, 2.0}).p50, 1.5);
  EXPECT_DOUBLE_EQ(percentiles_of({1.0, 2.0}).p99, 1.99);
  EXPECT_DOUBLE_EQ(percentiles_of({3.0}).p99, 3.0);
  EXPECT_EQ(percentiles_of({}).count, 0);
}

TEST(Times, CountFromTheScheduleAndDivideByTheGaps) {
  Record record = answered(10.0, {10.5, 10.7, 11.3});
  record.sent_s = 10.2;  // this program was late: that counts
  EXPECT_DOUBLE_EQ(ttft_of(record), 0.5);
  EXPECT_NEAR(*tpot_of(record), 0.4, 1e-12);
  record.output_tokens = 5;  // two chunks held two tokens
  EXPECT_NEAR(*tpot_of(record), 0.2, 1e-12);
  EXPECT_NEAR(e2e_of(record), 1.3, 1e-12);
  EXPECT_EQ(tpot_of(answered(0.0, {1.0})), std::nullopt);
}

TEST(Goal, NeedsEveryBoundThatIsSet) {
  const Goal goal = Goal::parse("ttft:500ms,tpot:200ms", "--goodput");
  EXPECT_FALSE(goal.e2e_s);
  EXPECT_TRUE(goal.is_met_by(answered(0.0, {0.5, 0.7})));
  EXPECT_FALSE(goal.is_met_by(answered(0.0, {0.6, 0.7})));
  EXPECT_FALSE(goal.is_met_by(answered(0.0, {0.5, 0.8})));
  EXPECT_TRUE(goal.is_met_by(answered(0.0, {0.5})));  // one token has no TPOT
  EXPECT_FALSE(goal.is_met_by(answered(0.0, {})));
  Record cancelled = answered(0.0, {0.1, 0.2});
  cancelled.outcome = Outcome::cancelled;
  EXPECT_FALSE(goal.is_met_by(cancelled));
  EXPECT_FALSE(Goal::parse("e2e:1s", "--goodput").is_met_by(answered(0.0, {1.5})));
}

TEST(Goal, ThatCannotBeReadIsRefused) {
  for (const char* text : {"", "ttft", "ttft:", "ttft:5", "itl:5ms", "ttft:5ms,", "ttft:1s,ttft:2s",
                           "ttft:-1s", "ttft=1s"}) {
    EXPECT_THROW(Goal::parse(text, "--goodput"), Error) << text;
  }
}

TEST(Summary, CountsRatesOverTheWholeLoadAndTimesOfCompletedRequests) {
  std::vector<Record> records = {answered(100.0, {101.0, 102.0}), answered(101.0, {101.5, 105.0})};
  records[0].has_usage = true;
  records[0].input_tokens = 40;
  records[0].cached_tokens = 16;
  records[0].output_tokens = 10;
  records[0].asked_output = 10;
  records[1].asked_output = 10;
  Record cancelled = answered(100.0, {100.1, 100.2, 104.0});
  cancelled.outcome = Outcome::cancelled;
  records.push_back(cancelled);
  const Summary summary = summarize(records, 100.0, Goal::parse("ttft:600ms", "--goodput"));
  EXPECT_DOUBLE_EQ(summary.duration_s, 5.0);
  EXPECT_EQ(summary.sent, 3);
  EXPECT_EQ(summary.completed, 2);
  EXPECT_EQ(summary.cancelled, 1);
  EXPECT_EQ(summary.with_usage, 1);
  EXPECT_EQ(summary.ended_early, 1);
  EXPECT_EQ(summary.input_tokens, 40);
  EXPECT_EQ(summary.cached_tokens, 16);
  EXPECT_EQ(summary.output_tokens, 12);
  EXPECT_EQ(summary.chunks, 4);
  EXPECT_DOUBLE_EQ(summary.requests_per_s, 0.4);
  EXPECT_DOUBLE_EQ(summary.output_tokens_per_s, 2.4);
  EXPECT_DOUBLE_EQ(summary.mean_in_flight, (2.0 + 4.0 + 4.0) / 5.0);
  EXPECT_EQ(summary.ttft_s.count, 2);
  EXPECT_EQ(summary.itl_s.count, 2);
  EXPECT_DOUBLE_EQ(summary.itl_s.max, 3.5);
  EXPECT_EQ(summary.good, 1);
  EXPECT_DOUBLE_EQ(summary.goodput_per_s, 0.2);
}

TEST(Summary, OfNothingHasNoNumbersThatAreNotNumbers) {
  const Summary summary = summarize({}, 5.0, {});
  EXPECT_EQ(summary.duration_s, 0.0);
  EXPECT_EQ(summary.requests_per_s, 0.0);
  EXPECT_EQ(summary.mean_in_flight, 0.0);
}

TEST(Summary, GroupsErrorsByKindAndStatus) {
  std::vector<Record> records = {
      failed(Trouble::status, 503, "loading"),    failed(Trouble::status, 429, "full"),
      failed(Trouble::status, 429, "full again"), failed(Trouble::cut, 200, "end of stream"),
      failed(Trouble::cut, 200, "end of stream"), failed(Trouble::cut, 200, "end of stream")};
  records[2].retry_after_s = 2.0;
  const Summary summary = summarize(records, 0.0, {});
  EXPECT_EQ(summary.failed, 6);
  ASSERT_EQ(summary.errors.size(), 3);
  EXPECT_EQ(summary.errors[0].trouble, Trouble::cut);
  EXPECT_EQ(summary.errors[0].count, 3);
  EXPECT_EQ(summary.errors[1].status, 429);
  EXPECT_EQ(summary.errors[1].example, "full");
  EXPECT_EQ(summary.errors[1].retry_after_s, 2.0);
  EXPECT_EQ(summary.errors[2].status, 503);
}

TEST(GapsBeside, AreThoseThatOverlapAWaitForAFirstToken) {
  const std::vector<Record> streams = {answered(0.0, {1.0, 2.0, 3.0, 4.0, 5.0})};
  // Waits 2.5 to 3.5 and, overlapping, 3.2 to 3.4; one that ends just where a gap begins.
  std::vector<Record> others = {answered(2.5, {3.5, 9.0}), answered(3.2, {3.4}),
                                answered(0.5, {1.0})};
  const DisturbedGaps gaps = gaps_beside(streams, others);
  EXPECT_EQ(gaps.during_s.count, 2);
  EXPECT_EQ(gaps.otherwise_s.count, 2);
  Record never = answered(4.5, {});
  never.end_s = 4.6;
  others.push_back(never);
  EXPECT_EQ(gaps_beside(streams, others).during_s.count, 3);
}

}  // namespace
}  // namespace dure::load
