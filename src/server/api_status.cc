// GET /health, /version, /metrics: how the server is.
#include <fmt/format.h>

#include "base/error.h"
#include "server/api_handlers.h"
#include "server/metrics_page.h"

namespace dure {

void health(const ApiContext& context, const HttpRequest&,
            const std::shared_ptr<Exchange>& exchange) {
  const EngineStatus status = context.engine.status();
  if (status.state != GroupState::ready) {
    throw Error(ErrorCode::unavailable,
                fmt::format("the model's ranks are {}", to_string(status.state)));
  }
  if (status.stalled_s > context.options.stalled_after_s) {
    throw Error(ErrorCode::unavailable,
                fmt::format("no step has been done for {:.1f} s", status.stalled_s));
  }
  reply_json(*exchange, R"({"status":"ok"})");
}

void version(const ApiContext&, const HttpRequest&, const std::shared_ptr<Exchange>& exchange) {
  reply_json(*exchange, R"({"version":")" DURE_VERSION R"("})");
}

void metrics(const ApiContext& context, const HttpRequest&,
             const std::shared_ptr<Exchange>& exchange) {
  const MetricsPage page{context.model.names.front(), context.options.expert_series};
  context.engine.ask_measures(
      [&engine = context.engine, page, exchange](const RankMeasures& measures) {
        HttpResponse response;
        response.content_type = "text/plain; version=0.0.4; charset=utf-8";
        response.body = metrics_page(page, engine.status(), measures);
        exchange->reply(std::move(response));
      });
}

}  // namespace dure
