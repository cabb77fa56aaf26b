// See api_answers.h.
#include "server/api_answers.h"

#include <fmt/format.h>

#include <ctime>

#include "server/answer.h"
#include "server/api_errors.h"
#include "server/api_keys.h"
#include "server/grammar_constraint.h"

namespace dure {
namespace {

// Who shares the server by tokens: the holders of keys where there are keys (a client may name any
// user), else the users that requests name.
std::string tenant_of(const ApiContext& context, const HttpRequest& request,
                      const GenerationFields& fields) {
  const auto key = key_index(context.options.api_keys, request.authorization);
  return key ? fmt::format("key {}", *key) : fmt::format("user {}", fields.user);
}

void submit(const ApiContext& context, std::vector<Generation> generations, Exchange& exchange) {
  const EngineStatus status = context.engine.status();
  const RequestCounts& counts = status.counts;
  const int64_t ended =
      counts.finished_stop + counts.finished_length + counts.cancelled + counts.failed;
  const auto now = DrainRate::Clock::now();
  context.drain_rate.note(now, ended);
  std::vector<uint64_t> ids;
  try {
    ids = context.engine.submit(std::move(generations));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::overloaded) throw;
    ApiError answer = api_error_of(error);
    answer.retry_after_s = context.drain_rate.retry_after_s(now, ended, status.waiting);
    return exchange.reply(error_response(answer));
  }
  exchange.when_closed([&engine = context.engine, ids = std::move(ids)] { engine.cancel(ids); });
}

}  // namespace

void hold_to(const GrammarSource& source, const std::optional<AnswerOptions>& reasoning,
             const ApiContext& context, std::vector<Generation>& generations) {
  const auto constraint = context.grammars.constraint(source);
  for (Generation& generation : generations) {
    generation.end_ids = context.model.eos_ids;
    generation.sampling.min_tokens = 0;
    std::optional<FreeReasoning> free;
    if (reasoning) free = FreeReasoning{*reasoning, context.model.tokenizer};
    generation.constraint =
        std::make_unique<GrammarConstraint>(constraint, generation.end_ids, std::move(free));
  }
}

void answer(const ApiContext& context, const HttpRequest& request, const GenerationFields& fields,
            PlannedAnswer planned, const std::shared_ptr<Exchange>& exchange) {
  AnswerHead head{answer_id(planned.chat, request.id), std::time(nullptr), fields.model,
                  planned.chat, fields.include_usage};
  head.logprobs = fields.sampling.logprobs;
  head.prompt_logprobs = fields.prompt_logprobs;
  if (head.logprobs >= 0 || head.prompt_logprobs >= 0) head.texts = context.vocabulary.texts();
  const auto sinks =
      fields.stream
          ? streamed_answer_sinks(head, std::move(planned.choices), exchange)
          : whole_answer_sinks(head, std::move(planned.choices), exchange, context.workers);
  const std::string tenant = tenant_of(context, request, fields);
  for (size_t i = 0; i < sinks.size(); ++i) {
    planned.generations[i].request = request.id;
    planned.generations[i].tenant = tenant;
    planned.generations[i].sink = sinks[i];
  }
  submit(context, std::move(planned.generations), *exchange);
}

}  // namespace dure
