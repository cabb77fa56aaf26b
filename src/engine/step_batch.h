// From a step message to what this rank computes: the token rows of its dp group.
#pragma once

#include <vector>

#include "layers/runtime.h"
#include "protocol/messages.h"
#include "schedule/page_class.h"

namespace dure {

struct StepBatch {
  Batch batch;
  std::vector<const Slice*> slices;  // of this dp group, in the step's order
  bool traced = false;               // some slice of the step, of any dp group, wants all logits
};

struct StepLimits {
  int64_t vocab = 0;
  int64_t context = 0;
  int64_t pages = 0;
  int64_t states = 0;
  int64_t page_tokens = 0;
  std::vector<PageClass> classes;  // that the layers' tables are of
  int64_t max_batch_tokens = 0;
};

// Throws `failed` naming step and slice where the step asks for what the group does not have (a
// page, a state, a token, a dp group, more rows than the buffers hold) or sampling that no front
// asks for (check_setup.h). `step` must outlive the result.
StepBatch batch_of(const Step& step, const Layout& layout, const RankPlace& place,
                   const StepLimits& limits);

}  // namespace dure
