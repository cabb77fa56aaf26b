// Loads against a scripted server on a clock of its own: order, counts and exact times.
#include "load/load_run.h"

#include <gmock/gmock.h>

#include <cmath>

#include "load/testing.h"

namespace dure::load {
namespace {

using testing::answer_steps;
using testing::bytes_step;
using testing::end_step;
using testing::head_step;
using testing::ScriptedTransport;
using testing::Step;
using testing::text_step;

WorkloadSpec closed(int clients, int64_t requests) {
  WorkloadSpec spec;
  spec.concurrency = clients;
  spec.requests = requests;
  spec.input = Lengths(4);
  spec.output = Lengths(3);
  return spec;
}

WorkloadSpec open(double rate, int64_t requests) {
  WorkloadSpec spec = closed(0, requests);
  spec.rate = rate;
  return spec;
}

LoadSettings settings() {
  LoadSettings made;
  made.members = "\"model\":\"m\"";
  return made;
}

LoadResult run(ScriptedTransport& transport, WorkloadSpec spec, LoadSettings with = settings()) {
  return LoadRun(transport, std::move(with), Workload(std::move(spec)), std::nullopt).run();
}

ScriptedTransport::Server always(std::vector<Step> steps) {
  return [steps](const CallSpec&, int) { return steps; };
}

TEST(LoadRun, AClosedLoopKeepsItsClientsBusyAndNoMore) {
  ScriptedTransport transport(always(answer_steps(3, 1.0, 0.5)));
  const LoadResult result = run(transport, closed(4, 10));
  EXPECT_EQ(result.records.size(), 10);
  EXPECT_EQ(transport.most_open(), 4);
  // Three rounds of four clients at 2 s each, the last one half empty.
  for (int i = 0; i < 10; ++i) {
    EXPECT_NEAR(transport.sent()[static_cast<size_t>(i)].at_s, i / 4 * 2.0, 1e-9);
  }
  for (const Record& record : result.records) {
    EXPECT_EQ(record.outcome, Outcome::completed);
    EXPECT_NEAR(ttft_of(record), 1.0, 1e-9);
    EXPECT_NEAR(*tpot_of(record), 0.5, 1e-9);
    EXPECT_EQ(record.input_tokens, 7);
    EXPECT_EQ(record.output_tokens, 3);
    EXPECT_TRUE(record.has_usage);
    EXPECT_EQ(record.finish_reason, "length");
  }
}

TEST(LoadRun, AnOpenLoopSendsOnScheduleHoweverSlowTheServerIs) {
  ScriptedTransport transport(always(answer_steps(3, 1000.0, 0.5)));
  Workload expected(open(10.0, 50));
  const LoadResult result = run(transport, open(10.0, 50));
  ASSERT_EQ(transport.sent().size(), 50);
  for (const auto& sent : transport.sent()) EXPECT_DOUBLE_EQ(sent.at_s, expected.next()->at_s);
  EXPECT_EQ(transport.most_open(), 50);
  EXPECT_EQ(summarize(result.records, result.start_s, {}).send_lag_s.max, 0.0);
}

TEST(LoadRun, WhatThisProgramIsLateCountsAndIsReported) {
  ScriptedTransport* clock = nullptr;
  ScriptedTransport transport([&](const CallSpec&, int index) {
    if (index == 10) clock->be_busy(3.0);
    return answer_steps(3, 0.1, 0.0);
  });
  clock = &transport;
  Workload expected(open(10.0, 50));
  const LoadResult result = run(transport, open(10.0, 50));
  ASSERT_EQ(result.records.size(), 50);
  std::vector<double> due(50);
  for (double& at_s : due) at_s = expected.next()->at_s;
  int late = 0;
  for (const Record& record : result.records) {
    // The schedule never moves: a late request has waited since it was due.
    EXPECT_DOUBLE_EQ(record.scheduled_s, due[static_cast<size_t>(record.number)]);
    EXPECT_GE(ttft_of(record), 0.1 - 1e-9);
    late += record.sent_s > record.scheduled_s + 1e-9 ? 1 : 0;
  }
  EXPECT_GT(late, 10);
  const Summary summary = summarize(result.records, result.start_s, {});
  EXPECT_GT(summary.send_lag_s.max, 2.0);
  EXPECT_GT(summary.ttft_s.max, 2.1);
  EXPECT_NEAR(result.timer_lag_s.max, 3.0, 0.011);
}

TEST(LoadRun, AllAtOnceSendsAllBeforeAnyAnswer) {
  ScriptedTransport transport(always(answer_steps(1, 0.5, 0.0)));
  run(transport, open(INFINITY, 200));
  EXPECT_EQ(transport.most_open(), 200);
}

TEST(LoadRun, AnOpenLoopDoesNotTryAgainAndAClosedOneWaitsAsTold) {
  const std::vector<Step> full = {head_step(0.0, 429, 5.0),
                                  bytes_step(0.0, "{\"error\":{\"message\":\"queue is full\"}}"),
                                  end_step(0.0)};
  ScriptedTransport opened(always(full));
  const LoadResult result = run(opened, open(10.0, 20));
  EXPECT_EQ(opened.sent().size(), 20);
  const Summary summary = summarize(result.records, result.start_s, {});
  ASSERT_EQ(summary.errors.size(), 1);
  EXPECT_EQ(summary.errors[0].status, 429);
  EXPECT_EQ(summary.errors[0].count, 20);
  EXPECT_EQ(summary.errors[0].example, "queue is full");
  EXPECT_EQ(summary.errors[0].retry_after_s, 5.0);

  ScriptedTransport waiting(
      [&](const CallSpec&, int index) { return index < 2 ? full : answer_steps(3, 0.0, 0.0); });
  EXPECT_EQ(run(waiting, closed(1, 4)).records.size(), 4);
  EXPECT_NEAR(waiting.sent()[1].at_s, 5.0, 1e-9);
  EXPECT_NEAR(waiting.sent()[2].at_s, 10.0, 1e-9);
  EXPECT_NEAR(waiting.sent()[3].at_s, 10.0, 1e-9);
}

TEST(LoadRun, CancelledRequestsLeaveAfterTheTokensTheyDrew) {
  ScriptedTransport transport(always(answer_steps(3, 0.1, 0.1)));
  WorkloadSpec spec = closed(2, 200);
  spec.cancel_fraction = 0.5;
  Workload expected(spec);
  std::vector<std::optional<int64_t>> after;
  while (const auto plan = expected.next()) after.push_back(plan->cancel_after);
  const LoadResult result = run(transport, spec);
  ASSERT_EQ(result.records.size(), 200);
  for (const Record& record : result.records) {
    const auto planned = after[static_cast<size_t>(record.number)];
    EXPECT_EQ(record.outcome, planned ? Outcome::cancelled : Outcome::completed);
    EXPECT_EQ(static_cast<int64_t>(record.arrivals_s.size()), planned.value_or(3));
  }
}

TEST(LoadRun, WarmUpsComeFirstAndAreNotCounted) {
  ScriptedTransport transport([](const CallSpec&, int index) {
    return index == 0 ? std::vector<Step>{end_step(9.0, CallEnd::hung_up)}
                      : answer_steps(3, 1.0, 0.0);
  });
  LoadSettings with = settings();
  with.warm_up = 5;
  const LoadResult result = run(transport, closed(2, 4), with);
  EXPECT_EQ(transport.sent().size(), 9);
  EXPECT_EQ(result.records.size(), 4);
  EXPECT_EQ(result.warm_up_failed, 1);
  EXPECT_NEAR(result.start_s, 9.0, 1e-9);
  EXPECT_NEAR(summarize(result.records, result.start_s, {}).duration_s, 2.0, 1e-9);
  for (const Record& record : result.records) EXPECT_GE(record.scheduled_s, result.start_s);
}

TEST(LoadRun, TheBackgroundLastsAsLongAsTheLoadAndIsCountedApart) {
  ScriptedTransport transport([](const CallSpec& spec, int) {
    const bool is_long = spec.body.size() > 1000;
    return is_long ? answer_steps(3, 4.0, 1.0) : answer_steps(3, 1.0, 0.5);
  });
  WorkloadSpec beside = closed(1, 1'000'000);
  beside.input = Lengths(3000);
  LoadRun load(transport, settings(), Workload(closed(2, 10)), Workload(beside));
  const LoadResult result = load.run();
  EXPECT_EQ(result.records.size(), 10);
  ASSERT_EQ(result.background.size(), 2);
  EXPECT_EQ(result.background[0].outcome, Outcome::completed);
  EXPECT_EQ(result.background[1].outcome, Outcome::interrupted);  // the load ended after 10 s
}

TEST(LoadRun, NoClientBeginsAnotherRequestAfterTheDuration) {
  ScriptedTransport transport(always(answer_steps(3, 1.0, 0.5)));
  WorkloadSpec spec = closed(3, 1'000'000);
  spec.duration_s = 5.0;
  EXPECT_EQ(run(transport, spec).records.size(), 9);  // at 0, 2 and 4 s, and all of them end
}

TEST(LoadRun, StoppingGivesWhatThereIs) {
  ScriptedTransport transport(always(answer_steps(3, 1.0, 0.5)));
  LoadRun* running = nullptr;
  LoadRun load(transport, settings(), Workload(closed(2, 100)), std::nullopt,
               [&](const LoadProgress& progress) {
                 if (progress.elapsed_s >= 4.9) running->stop();
               });
  running = &load;
  const LoadResult result = load.run();
  EXPECT_TRUE(result.stopped);
  const Summary summary = summarize(result.records, result.start_s, {});
  EXPECT_EQ(summary.completed, 4);
  EXPECT_EQ(summary.interrupted, 2);
  EXPECT_EQ(summary.failed, 0);
}

struct Broken {
  const char* what;
  std::vector<Step> steps;
  Trouble trouble;
};

TEST(LoadRun, EveryKindOfBrokenAnswerIsNamed) {
  const Broken cases[] = {
      {"nobody there", {end_step(0.0, CallEnd::not_reached)}, Trouble::not_reached},
      {"no descriptors", {end_step(0.0, CallEnd::no_descriptors)}, Trouble::no_descriptors},
      {"hung up", {end_step(0.0, CallEnd::hung_up)}, Trouble::hung_up},
      {"not HTTP", {end_step(0.0, CallEnd::not_http)}, Trouble::not_http},
      {"silent", {end_step(9.0, CallEnd::timed_out)}, Trouble::timed_out},
      {"stalls",
       {head_step(0.0), text_step(0.1), end_step(9.0, CallEnd::timed_out)},
       Trouble::timed_out},
      {"cut", {head_step(0.0), text_step(0.1), end_step(0.0, CallEnd::cut)}, Trouble::cut},
      {"ends without an end", {head_step(0.0), text_step(0.1), end_step(0.0)}, Trouble::cut},
      {"not JSON", {head_step(0.0), bytes_step(0.0, "data: rubbish\n\n")}, Trouble::bad_event},
      {"an error",
       {head_step(0.0), text_step(0.1),
        bytes_step(0.0, "data: {\"error\":{\"message\":\"x\"}}\n\n")},
       Trouble::error_event},
      {"a status", {head_step(0.0, 503), end_step(0.0)}, Trouble::status},
      {"a status and a flood",
       {head_step(0.0, 500), bytes_step(0.0, std::string(100000, 'x')), bytes_step(0.0, "y")},
       Trouble::status},
      {"not a stream",
       {{0.0, Step::Kind::head, {200, "text/html", 0.0}}, bytes_step(0.0, "<html>")},
       Trouble::not_a_stream},
  };
  for (const Broken& broken : cases) {
    ScriptedTransport transport(always(broken.steps));
    const LoadResult result = run(transport, closed(1, 2));
    ASSERT_EQ(result.records.size(), 2) << broken.what;
    EXPECT_EQ(result.records[1].outcome, Outcome::failed) << broken.what;
    EXPECT_EQ(result.records[1].trouble, broken.trouble) << broken.what;
  }
}

TEST(LoadRun, CountsChunksWhereTheServerGivesNoUsage) {
  ScriptedTransport transport(always({head_step(0.0), text_step(0.1), text_step(0.1),
                                      bytes_step(0.0, "data: [DONE]\n\n"), end_step(0.0)}));
  const LoadResult result = run(transport, closed(1, 1));
  ASSERT_EQ(result.records.size(), 1);
  EXPECT_EQ(result.records[0].outcome, Outcome::completed);
  EXPECT_FALSE(result.records[0].has_usage);
  EXPECT_EQ(result.records[0].output_tokens, 2);
}

TEST(LoadRun, ABodyIsOneJsonObjectWithPromptLengthAndMembers) {
  ScriptedTransport transport(always(answer_steps(3, 0.0, 0.0)));
  LoadSettings with = settings();
  with.style.alphabet = {5};
  run(transport, closed(1, 1), with);
  EXPECT_EQ(transport.sent()[0].body, "{\"prompt\":[5,5,5,5],\"max_tokens\":3,\"model\":\"m\"}");
}

}  // namespace
}  // namespace dure::load
