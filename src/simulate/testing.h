// Helpers of the tests in this folder: a small model on one GPU, under the load they share.
#pragma once

#include "model/load_spec.h"
#include "model/testing.h"
#include "simulate/closed_loop.h"

namespace dure::testing {

inline const Hardware h200 = {*find_gpu("h200").speed, 8, 50e9};

inline StepWork llama() {
  return work_of(
      load_spec(source_path("testdata/configs/released/meta-llama--Meta-Llama-3.1-8B.json")),
      {1, 1, 1, 1}, Numbers{});
}

// Nothing but steps takes time.
inline TimeConstants without_front() {
  TimeConstants constants;
  constants.first_token = 0.0;
  constants.arrival = 0.0;
  return constants;
}

// A prompt of 1,000 tokens in one step.
inline StepLoad whole_prompt() {
  StepLoad load;
  load.prefill_tokens = 1000;
  load.prefill_pairs = 500000;
  load.prompts = load.prompts_done = 1;
  return load;
}

}  // namespace dure::testing
