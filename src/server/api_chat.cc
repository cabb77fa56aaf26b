// POST /v1/chat/completions.
#include <fmt/format.h>

#include "server/api_answers.h"
#include "server/api_handlers.h"
#include "server/chat_plan.h"
#include "server/prompting.h"

namespace dure {

void chat_completions(const ApiContext& context, const HttpRequest& request,
                      const std::shared_ptr<Exchange>& exchange) {
  ChatCall call = parse_chat_call(request.body, context.model);
  const std::string prompt = render(call.conversation, context.model);
  ChatPlan plan = plan_chat(call, prompt, context.model);
  // Marks may be special tokens.
  if (plan.reading.parsing) call.generation.skip_special = false;
  PlannedAnswer planned;
  check_lists(call.generation, 1);
  planned.generations =
      make_generations(call.generation, encode_rendered(prompt, call.conversation, context.model),
                       "messages", context.model);
  if (plan.grammar) {
    hold_to(*plan.grammar, plan.reasoning, context, planned.generations);
  }
  planned.choices.resize(planned.generations.size());
  for (size_t i = 0; i < planned.choices.size(); ++i) {
    planned.choices[i].counts_prompt = i == 0;
    planned.choices[i].reading = plan.reading;
    if (plan.reading.parsing) {
      planned.choices[i].reading.parsing->id_seed = fmt::format("{}/{}", request.id, i);
    }
  }
  answer(context, request, call.generation, std::move(planned), exchange);
}

}  // namespace dure
