// See api.h.
#include "server/api.h"

#include <fmt/format.h>

#include <algorithm>

#include "server/api_errors.h"
#include "server/api_routes.h"
#include "server/requests.h"

namespace dure {
namespace {

// In a time that tells nothing about where the keys differ.
bool equal_in_constant_time(std::string_view a, std::string_view b) {
  unsigned char differs = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    differs |= static_cast<unsigned char>(a[i] ^ b[b.empty() ? 0 : i % b.size()]);
  }
  return differs == 0;
}

bool may_pass(const std::vector<std::string>& keys, std::string_view authorization) {
  if (keys.empty()) return true;
  constexpr std::string_view scheme = "bearer ";  // in any case
  if (authorization.size() < scheme.size() ||
      !std::equal(scheme.begin(), scheme.end(), authorization.begin(),
                  [](char a, char b) { return a == (b | 0x20); })) {
    return false;
  }
  const std::string_view given = authorization.substr(scheme.size());
  return std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
    return !given.empty() && equal_in_constant_time(given, key);
  });
}

void refuse(Exchange& exchange, const ApiError& error,
            std::vector<std::pair<std::string, std::string>> headers = {}) {
  HttpResponse response = error_response(error);
  response.headers.insert(response.headers.end(), headers.begin(), headers.end());
  exchange.reply(std::move(response));
}

void call(const Route& route, const ApiContext& context, const HttpRequest& request,
          const std::shared_ptr<Exchange>& exchange) {
  try {
    route.handler(context, request, exchange);
  } catch (const RequestError& error) {
    ApiError answer = api_error_of(error);
    answer.status = error.status();
    answer.code = error.api_code();
    refuse(*exchange, answer);
  } catch (const Error& error) {
    refuse(*exchange, api_error_of(error));
  } catch (const std::exception& error) {
    refuse(*exchange, api_error_of(Error(ErrorCode::failed, error.what())));
  }
}

// No route takes this path with this method: 405 if another method would do.
void refuse_unrouted(const HttpRequest& request, Exchange& exchange) {
  const std::string allowed = allowed_methods(request.path);
  if (allowed.empty()) return refuse(exchange, unknown_path(request.path));
  refuse(exchange,
         {.status = 405,
          .message = fmt::format("{:.100} takes {} requests only", request.path, allowed),
          .code = "method_not_allowed"},
         {{"Allow", allowed}});
}

}  // namespace

void handle_request(const ApiContext& context, HttpRequest request,
                    const std::shared_ptr<Exchange>& exchange) {
  const Route* route = find_route(request.method, request.path);
  if (route == nullptr) return refuse_unrouted(request, *exchange);
  if (route->guarded && !may_pass(context.options.api_keys, request.authorization)) {
    return refuse(
        *exchange,
        {.status = 401,
         .message = "the API key is missing or wrong (send \"Authorization: Bearer KEY\")",
         .code = "invalid_api_key"},
        {{"WWW-Authenticate", "Bearer"}});
  }
  if (route->describe_body == nullptr) return call(*route, context, request, exchange);
  try {
    context.workers.post(
        [&context, route, exchange, request = std::make_shared<HttpRequest>(std::move(request))] {
          if (!exchange->is_closed()) call(*route, context, *request, exchange);
        });
  } catch (const Error& error) {
    refuse(*exchange, api_error_of(error));
  }
}

void reply_json(Exchange& exchange, std::string body) {
  HttpResponse response;
  response.body = std::move(body);
  exchange.reply(std::move(response));
}

void start(const ApiContext& context, std::vector<Generation> generations, Exchange& exchange) {
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
    return refuse(exchange, answer);
  }
  exchange.when_closed([&engine = context.engine, ids = std::move(ids)] { engine.cancel(ids); });
}

}  // namespace dure
