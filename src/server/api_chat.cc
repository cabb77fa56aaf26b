// POST /v1/chat/completions.
#include <ctime>

#include "server/answer.h"
#include "server/api_handlers.h"
#include "server/prompting.h"

namespace dure {

void chat_completions(const ApiContext& context, const HttpRequest& request,
                      const std::shared_ptr<Exchange>& exchange) {
  const ChatCall call = parse_chat_call(request.body, context.model);
  Generation generation = make_generation(call.generation, encode(call.conversation, context.model),
                                          "messages", context.model);
  const AnswerHead head{answer_id(true, request.id), std::time(nullptr), call.generation.model,
                        true, call.generation.include_usage};
  generation.sink = call.generation.stream ? streamed_answer_sinks(head, 1, exchange).front()
                                           : whole_answer_sinks(head, 1, exchange).front();
  std::vector<Generation> one;
  one.push_back(std::move(generation));
  start(context, std::move(one), *exchange);
}

}  // namespace dure
