// See serving_profile.h.
#include "simulate/serving_profile.h"

#include "schedule/scheduler.h"
#include "simulate/calibrated_constants.h"

namespace dure {

TimeConstants hand_set_constants(Engine engine) {
  TimeConstants constants;
  switch (engine) {
    case Engine::vllm:
      // Triton's grouped product, with which vLLM runs fp8 experts, reads them more slowly.
      constants.expert_read = 0.35;
      break;
    case Engine::sglang:
      constants.first_token = 0.25;
      break;
    case Engine::trtllm:
      constants.first_token = 0.12;
      break;
    case Engine::dure:
      break;
  }
  return constants;
}

ServingProfile serving_profile(Engine engine) {
  ServingProfile profile;
  profile.ttft = calibrated::ttft_band;
  profile.tpot = calibrated::tpot_band;
  switch (engine) {
    case Engine::vllm:
      profile.constants = calibrated::vllm;
      break;
    case Engine::sglang:
      profile.scheduling.policy = StepPolicy::prompts_first;
      profile.constants = calibrated::sglang;
      break;
    case Engine::trtllm:
      profile.scheduling.policy = StepPolicy::whole_prompts;
      profile.scheduling.overlapped = true;
      profile.constants = calibrated::trtllm;
      break;
    case Engine::dure:
      profile.scheduling.stretch = ScheduleOptions().stretch;
      profile.constants = hand_set_constants(engine);
      profile.measured.of_engine = false;
      break;
  }
  return profile;
}

}  // namespace dure
