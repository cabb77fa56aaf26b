// What is known of an engine's way to serve: how it schedules, how fast its kernels are, and how
// far predictions made with that have been off.
#pragma once

#include "cost/engine_profile.h"
#include "simulate/closed_loop.h"

namespace dure {

// Of what is measured, as a multiple of what is predicted: 80% of runs on models and systems that
// the constants were not fitted on lie within.
struct ErrorBand {
  double low = 1.0;
  double high = 1.0;
};

struct ServingProfile {
  EngineModel scheduling;  // as the engine is launched without options
  TimeConstants constants;
  ErrorBand ttft;
  ErrorBand tpot;
};

// Engine::dure is nobody's measurement on GPUs: hand-set constants, and the model of mixed steps,
// with which its own scheduler agrees (scheduled_loop_test.cc).
ServingProfile serving_profile(Engine engine);

// Where a fit of an engine's constants begins.
TimeConstants hand_set_constants(Engine engine);

}  // namespace dure
