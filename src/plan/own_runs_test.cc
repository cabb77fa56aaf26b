#include "plan/own_runs.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "plan/search.h"
#include "plan/testing.h"

namespace dure {
namespace {

namespace fs = std::filesystem;
using testing::asked;
using ::testing::HasSubstr;

std::string refusal(const std::string& text) {
  std::string name = (fs::temp_directory_path() / "own_runs_XXXXXX").string();
  const fs::path folder = mkdtemp(name.data());
  std::ofstream(folder / "runs.csv") << text;
  std::string message = "accepted";
  try {
    read_own_runs(folder / "runs.csv");
  } catch (const Error& error) {
    message = error.message();
  }
  fs::remove_all(folder);
  return message;
}

const std::string header = "tp,input,output,concurrency,ttft_ms,tpot_ms\n";

TEST(OwnRuns, AreRefusedByLineAndColumn) {
  EXPECT_EQ(refusal(header + "8,1000,200,32,310,14.5\n"), "accepted");
  EXPECT_THAT(refusal(header), HasSubstr("holds no run"));
  EXPECT_THAT(refusal(header + "0,1000,200,32,310,14.5\n"), HasSubstr("line 2, column tp"));
  EXPECT_THAT(refusal(header + "8,1000,200,32,310,0\n"), HasSubstr("line 2, column tpot_ms"));
  EXPECT_THAT(refusal("tp,input,output,ttft_ms,tpot_ms\n8,1000,200,310,14.5\n"),
              HasSubstr("concurrency"));
  const std::string header = "tp,input,output,concurrency,ttft_ms,tpot_ms\n";
  EXPECT_THAT(refusal(header + "1,1000,200,16,1e-300,8\n"), HasSubstr("ttft_ms"));
  EXPECT_THAT(refusal(header + "1,1000,200,16,8,1e12\n"), HasSubstr("tpot_ms"));
  EXPECT_THAT(refusal(header + "1,1000,200,1000000,8,8\n"), HasSubstr("concurrency"));
  EXPECT_THAT(refusal("tp,dp,ep,input,output,concurrency,ttft_ms,tpot_ms\n2,2,3,1,1,1,1,1\n"),
              HasSubstr("ep"));
}

// What an engine whose memory is half as fast would have shown.
std::vector<OwnRun> slower_runs(const PlanModel& model, const PlanQuestion& question) {
  ServingProfile slow = model.engine;
  slow.constants.read *= 0.5;
  slow.constants.cache_read *= 0.5;
  std::vector<OwnRun> runs;
  for (const int tp : {1, 2}) {
    for (const int64_t concurrency : {1, 4, 16, 48, 96}) {
      OwnRun run;
      run.layout.tp = tp;
      run.input = 1000;
      run.output = 200;
      run.concurrency = concurrency;
      PlanQuestion asked = question;
      asked.gpus = tp;
      asked.input = run.input;
      asked.output = run.output;
      asked.concurrency = concurrency;
      RejectedLayout why;
      const auto deployment =
          deployment_of(model, asked, run.layout, KvFormat{}, usual_chunk(asked), why);
      const Service service = serve(*deployment, slow, load_of(asked));
      run.ttft = service.ttft;
      run.tpot = service.tpot;
      runs.push_back(run);
    }
  }
  return runs;
}

TEST(OwnRuns, MakeThePlanSayWhatTheyShowed) {
  const auto ask = asked("llama-3.1-8b", "h200", 2, 32);
  const PlanModel model(ask.spec, ask.question);
  const auto runs = slower_runs(model, ask.question);
  const Calibration calibration = calibrate(model, ask.question, runs);
  EXPECT_LT(calibration.profile.constants.read, 0.75 * model.engine.constants.read);
  PlanQuestion measured = ask.question;
  measured.measured = calibration.profile;
  measured.measured_says = calibration.says;
  const PlanAnswer before = plan(ask.spec, ask.question);
  const PlanAnswer after = plan(ask.spec, measured);
  EXPECT_GT(after.ranked.front().service.tpot, 1.3 * before.ranked.front().service.tpot);
  EXPECT_THAT(after.assumptions, ::testing::Contains(HasSubstr("fitted to 10 runs of your own")));
  EXPECT_EQ(calibration.profile.measured.input, 1000);
  EXPECT_EQ(calibration.profile.measured.in_flight, 96);
  // Ten runs are enough for a band of their own, which is narrow where the runs agree.
  EXPECT_GT(calibration.profile.tpot.low, model.engine.tpot.low);
}

TEST(OwnRuns, OfALayoutThatCannotHaveRunAreRefusedByLine) {
  const auto ask = asked("deepseek-v3", "h100", 8, 32);
  OwnRun run;
  run.line = 7;
  run.input = run.output = 100;
  run.concurrency = 1;
  run.ttft = run.tpot = 0.1;
  try {
    calibrate(PlanModel(ask.spec, ask.question), ask.question, {run});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("line 7"));
    EXPECT_THAT(error.message(), HasSubstr("missing"));
  }
}

}  // namespace
}  // namespace dure
