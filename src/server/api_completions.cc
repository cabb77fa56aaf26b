// POST /v1/completions: every prompt of the list becomes n choices.
#include <fmt/format.h>

#include "server/api_answers.h"
#include "server/api_handlers.h"
#include "server/prompting.h"

namespace dure {
namespace {

// What the prompt is as text; ids have only what they decode to.
std::string text_of(const Prompt& prompt, bool skip_special, const ServedModel& model) {
  if (const auto* text = std::get_if<std::string>(&prompt)) return *text;
  return model.tokenizer->decode(std::get<std::vector<int32_t>>(prompt), skip_special);
}

}  // namespace

void completions(const ApiContext& context, const HttpRequest& request,
                 const std::shared_ptr<Exchange>& exchange) {
  const CompletionCall call = parse_completion_call(request.body, context.model);
  const bool tells_prompt = call.echo && call.generation.sampling.logprobs >= 0;
  check_lists(call.generation, call.prompts.size());
  PlannedAnswer planned{false, {}, {}};
  for (size_t i = 0; i < call.prompts.size(); ++i) {
    const std::string field = call.prompts.size() == 1 ? "prompt" : fmt::format("prompt[{}]", i);
    const std::vector<int32_t> tokens = encode(call.prompts[i], call.add_special, context.model);
    ChoicePlan plan;
    plan.without_answer = call.prompt_only;
    if (call.echo)
      plan.echo = text_of(call.prompts[i], call.generation.skip_special, context.model);
    for (Generation& made : make_generations(call.generation, tokens, field, context.model)) {
      if (tells_prompt) plan.first_token = tokens.front();
      planned.generations.push_back(std::move(made));
      planned.choices.push_back(plan);
      plan.counts_prompt = false;
    }
  }
  if (call.generation.grammar) {
    hold_to(*call.generation.grammar, std::nullopt, context, planned.generations);
  }
  answer(context, request, call.generation, std::move(planned), exchange);
}

}  // namespace dure
