// From the generations of a request to its answer.
#pragma once

#include <vector>

#include "server/answer_json.h"
#include "server/api.h"
#include "server/requests.h"

namespace dure {

struct PlannedAnswer {
  bool chat = true;
  std::vector<ChoicePlan> choices;
  std::vector<Generation> generations;  // of the same number, without sinks
};

// Submits them; the client's leaving cancels them.
void answer(const ApiContext& context, const HttpRequest& request, const GenerationFields& fields,
            PlannedAnswer planned, const std::shared_ptr<Exchange>& exchange);

}  // namespace dure
