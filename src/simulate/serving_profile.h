// What is known of an engine's way to serve: how it schedules, how fast its kernels are, and how
// far predictions made with that have been off.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cost/engine_profile.h"
#include "simulate/closed_loop.h"

namespace dure {

// Of what is measured, as a multiple of what is predicted: 80% of runs on models and systems that
// the constants were not fitted on lie within.
struct ErrorBand {
  double low = 1.0;
  double high = 1.0;
};

// What the runs behind the bands had in common: of a plan outside it, how far a prediction is off
// is nobody's knowledge. The defaults are those of the runs that ship.
struct MeasuredRange {
  bool of_engine = true;  // runs of this engine
  std::vector<std::string> gpus = {"h100", "h200", "b200"};
  std::vector<std::string> weights = {"bf16", "fp8", "nvfp4"};
  bool whole_attention = true;  // every query of every layer reads all keys, grouped or latent
  int stages = 1;               // of a replica
  int nodes = 1;
  int64_t input = 8192;     // tokens
  int64_t output = 8192;    // tokens
  int64_t in_flight = 256;  // requests of one dp rank
};

struct ServingProfile {
  EngineModel scheduling;  // as the engine is launched without options
  TimeConstants constants;
  ErrorBand ttft;
  ErrorBand tpot;
  MeasuredRange measured;
};

// Engine::dure is nobody's measurement on GPUs: hand-set constants, and the model of mixed steps,
// with which its own scheduler agrees (scheduled_loop_test.cc).
ServingProfile serving_profile(Engine engine);

// Where a fit of an engine's constants begins.
TimeConstants hand_set_constants(Engine engine);

}  // namespace dure
