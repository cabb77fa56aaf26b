// A load generator that keeps so many requests in flight, replayed against an engine's scheduler
// event by event: no queueing formula stands between the step's time and what a user sees.
#pragma once

#include <cstdint>

#include "cost/step_time.h"

namespace dure {

enum class StepPolicy {
  mixed,          // vLLM: each step the decodes, and chunks of prompts up to the budget
  prompts_first,  // SGLang: prompts in steps of their own, which decodes wait for
  whole_prompts,  // TensorRT-LLM: each step the decodes, and whole prompts within the budget
  dure,           // Dure: its own scheduler is asked (scheduled_loop.h)
};

struct EngineModel {
  StepPolicy policy = StepPolicy::mixed;
  int64_t budget = 8192;          // tokens of a step
  int64_t sequences = 1'000'000;  // at once
  double cache_tokens = 1e18;     // of one dp rank
  // Steps are launched before the outcome of the last one is known: what comes meanwhile waits for
  // them, and what a step yields is told after the next one.
  bool overlapped = false;
  // Requests are looked for once in so many decode steps (SGLang's scheduler-recv-interval).
  int64_t poll_steps = 1;
  // While others decode, prompts wait so many steps, or until so many tokens are together
  // (TensorRT-LLM's batch_wait_timeout_iters and batch_wait_max_tokens_ratio). With peers, the
  // steps are counted from the last prompts on: some dp rank always waits (attention_dp_config).
  int64_t wait_steps = 0;
  double wait_tokens = 0.0;
  bool waits_for_peers = false;
  // Prompts take no more of a step than makes it so many times as long as its decodes alone; 1 or
  // less: any.
  double stretch = 0.0;
  // Of a pool that decodes: steps until it tells what was handed over (its stream interval).
  int64_t tells_after = 1;
};

struct ClosedLoad {
  int concurrency = 1;   // of one dp rank
  int64_t input = 1024;  // tokens
  int64_t output = 1024;
  double shortest = 1.0;   // lengths are uniform in [shortest, 1] of these
  int requests_each = 10;  // of each of the concurrent users
};

struct ServedMeans {
  double ttft = 0.0;  // seconds
  double tpot = 0.0;
  double tokens_per_s = 0.0;  // of output, of the dp rank
};

ServedMeans replay(const StepWork& work, const Hardware& hardware, const TimeConstants& constants,
                   const EngineModel& engine, const ClosedLoad& load);

}  // namespace dure
