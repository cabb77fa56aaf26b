// The HTTP API: which request goes to which handler, on which thread, and what happens to what they
// throw.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/drain_rate.h"
#include "server/engine_loop.h"
#include "server/grammars.h"
#include "server/http_message.h"
#include "server/served_model.h"
#include "server/vocabulary.h"
#include "server/worker_pool.h"

namespace dure {

struct ApiOptions {
  std::vector<std::string> api_keys;  // none: everybody may
  double stalled_after_s = 5.0;       // without progress of a step: /health says 503
  bool expert_series = true;          // /metrics tells of each expert; else of each rank's together
};

struct ApiContext {
  const ServedModel& model;
  EngineLoop& engine;
  WorkerPool& workers;
  DrainRate& drain_rate;
  Vocabulary& vocabulary;
  Grammars& grammars;
  ApiOptions options;
};

// Handles one request; never throws, never blocks. The context must outlive the exchange.
void handle_request(const ApiContext& context, HttpRequest request,
                    const std::shared_ptr<Exchange>& exchange);

}  // namespace dure
