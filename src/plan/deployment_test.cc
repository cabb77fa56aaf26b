#include "plan/deployment.h"

#include <gtest/gtest.h>

#include "plan/testing.h"

namespace dure {
namespace {

using testing::asked;

Deployment deployed(const PlanModel& model, const PlanQuestion& question, const Layout& layout) {
  RejectedLayout why;
  const auto deployment = deployment_of(model, question, layout, KvFormat{}, 8192, why);
  EXPECT_TRUE(deployment) << why.reason;
  return *deployment;
}

// What makes it safe to leave layouts out unreplayed.
TEST(Deployment, IsNeverServedBetterThanItsBestCase) {
  for (const char* name : {"llama-3.1-70b", "deepseek-v3", "qwen3-30b-a3b"}) {
    for (const Engine engine : {Engine::vllm, Engine::sglang, Engine::trtllm}) {
      for (const auto& [input, output, concurrency] :
           {std::tuple{2000, 500, 256}, {10000, 50, 40}, {100, 3000, 300}, {1000, 1000, 3}}) {
        auto ask = asked(name, "h200", 16, concurrency);
        ask.question.engine = engine;
        ask.question.input = input;
        ask.question.output = output;
        const PlanModel model(ask.spec, ask.question);
        const PlannedLoad load = load_of(ask.question);
        for (const Layout& layout : candidate_layouts(ask.spec, 16, false)) {
          RejectedLayout why;
          const auto each = deployment_of(model, ask.question, layout, KvFormat{}, 8192, why);
          if (!each) continue;
          const Service best = best_case(*each, model.engine, load);
          const Service real = serve(*each, model.engine, load);
          EXPECT_GE(best.tokens_per_s, real.tokens_per_s)
              << name << to_string(engine) << to_string(layout);
          EXPECT_LE(best.ttft, real.ttft) << name << to_string(engine) << to_string(layout);
          EXPECT_LE(best.tpot, real.tpot) << name << to_string(engine) << to_string(layout);
        }
      }
    }
  }
}

// 5 requests over 4 replicas: three have one each and one has two.
TEST(Deployment, SharesRequestsOutOverReplicas) {
  auto ask = asked("llama-3.1-8b", "h200", 4, 5);
  const PlanModel model(ask.spec, ask.question);
  Deployment four = deployed(model, ask.question, {1, 1, 1, 1});
  ASSERT_EQ(four.replicas, 4);
  Deployment one = four;
  one.replicas = 1;
  PlannedLoad load = load_of(ask.question);
  const double all = serve(four, model.engine, load).tokens_per_s;
  load.concurrency = 1;
  const double alone = serve(one, model.engine, load).tokens_per_s;
  load.concurrency = 2;
  const double two = serve(one, model.engine, load).tokens_per_s;
  EXPECT_NEAR(all, 3 * alone + two, 1e-6 * all);
}

TEST(Deployment, QueuesWhatItsCacheHasNoRoomFor) {
  auto ask = asked("llama-3.1-70b", "h100", 2, 64);
  ask.question.gpus_per_node = 2;
  const PlanModel model(ask.spec, ask.question);
  const Deployment tight = deployed(model, ask.question, {2, 1, 1, 1});
  ASSERT_LT(tight.room.sequences, 64);
  EXPECT_EQ(sequences_at_once(tight, 64), tight.room.sequences);
  Deployment roomy = tight;
  roomy.room.sequences = 64;
  const PlannedLoad load = load_of(ask.question);
  const Service waiting = serve(tight, model.engine, load);
  const Service served = serve(roomy, model.engine, load);
  EXPECT_GT(waiting.ttft, 2 * served.ttft);
  EXPECT_LT(waiting.tokens_per_s, served.tokens_per_s);
  EXPECT_LT(waiting.tpot, served.tpot);  // of fewer at once
}

}  // namespace
}  // namespace dure
