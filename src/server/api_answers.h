// From the generations of a request to its answer.
#pragma once

#include <optional>
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

// Holds each of them to the grammar, behind the reasoning that the prompt has opened. What ends an
// answer is then the grammar's to say: ignore_eos and min_tokens have no effect.
void hold_to(const GrammarSource& source, const std::optional<AnswerOptions>& reasoning,
             const ApiContext& context, std::vector<Generation>& generations);

// Submits them; the client's leaving cancels them.
void answer(const ApiContext& context, const HttpRequest& request, const GenerationFields& fields,
            PlannedAnswer planned, const std::shared_ptr<Exchange>& exchange);

}  // namespace dure
