// Helpers of the tests in this folder: questions about released models.
#pragma once

#include <string>

#include "cost/retype.h"
#include "model/presets.h"
#include "plan/search.h"

namespace dure::testing {

struct Asked {
  ModelSpec spec;
  PlanQuestion question;
};

// As its release stores it; 2,000 tokens in and 500 out, 8 GPUs a node, no ways out.
inline Asked asked(const std::string& preset, const std::string& gpu, int gpus,
                   int64_t concurrency) {
  Asked asked{spec_of(*find_preset(preset)), {}};
  PlanQuestion& question = asked.question;
  question.model = preset;
  question.gpu = find_gpu(gpu);
  question.gpus = gpus;
  question.gpus_per_node = 8;
  question.weights = retype(asked.spec, "");
  question.input = 2000;
  question.output = 500;
  question.concurrency = concurrency;
  question.alternatives = false;
  return asked;
}

inline PlanAnswer answered(const Asked& asked) {
  return plan(asked.spec, asked.question);
}

}  // namespace dure::testing
