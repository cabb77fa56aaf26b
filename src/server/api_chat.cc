// POST /v1/chat/completions.
#include "server/api_answers.h"
#include "server/api_handlers.h"
#include "server/prompting.h"

namespace dure {

void chat_completions(const ApiContext& context, const HttpRequest& request,
                      const std::shared_ptr<Exchange>& exchange) {
  const ChatCall call = parse_chat_call(request.body, context.model);
  std::vector<Generation> generations = make_generations(
      call.generation, encode(call.conversation, context.model), "messages", context.model);
  std::vector<ChoicePlan> plans(generations.size());
  for (size_t i = 1; i < plans.size(); ++i) plans[i].counts_prompt = false;
  answer(context, request, call.generation, {true, std::move(plans), std::move(generations)},
         exchange);
}

}  // namespace dure
