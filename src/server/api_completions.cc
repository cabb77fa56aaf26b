// POST /v1/completions: every prompt of the list becomes one choice.
#include <fmt/format.h>

#include <ctime>

#include "server/answer.h"
#include "server/api_handlers.h"
#include "server/prompting.h"

namespace dure {

void completions(const ApiContext& context, const HttpRequest& request,
                 const std::shared_ptr<Exchange>& exchange) {
  const CompletionCall call = parse_completion_call(request.body, context.model);
  const AnswerHead head{answer_id(false, request.id), std::time(nullptr), call.generation.model,
                        false, call.generation.include_usage};
  const int count = static_cast<int>(call.prompts.size());
  const auto sinks = call.generation.stream ? streamed_answer_sinks(head, count, exchange)
                                            : whole_answer_sinks(head, count, exchange);
  std::vector<Generation> generations;
  for (size_t i = 0; i < call.prompts.size(); ++i) {
    const std::string field = count == 1 ? "prompt" : fmt::format("prompt[{}]", i);
    generations.push_back(make_generation(call.generation,
                                          encode(call.prompts[i], call.add_special, context.model),
                                          field, context.model));
    generations.back().sink = sinks[i];
  }
  start(context, std::move(generations), *exchange);
}

}  // namespace dure
