// The answer to one request of one or more generations, whole or as a stream of events.
#pragma once

#include <memory>
#include <vector>

#include "server/answer_json.h"
#include "server/generation.h"
#include "server/http_message.h"
#include "server/worker_pool.h"

namespace dure {

// One sink per choice. All of them must be used on one thread, the engine's. A whole answer with
// log-probabilities, which may be long, is written by one of the workers.
std::vector<std::shared_ptr<GenerationSink>> whole_answer_sinks(const AnswerHead& head,
                                                                std::vector<ChoicePlan> plans,
                                                                std::shared_ptr<Exchange> exchange,
                                                                WorkerPool& workers);
std::vector<std::shared_ptr<GenerationSink>> streamed_answer_sinks(
    const AnswerHead& head, std::vector<ChoicePlan> plans, std::shared_ptr<Exchange> exchange);

}  // namespace dure
