// See api.h.
#include "server/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "server/api_errors.h"
#include "server/api_handlers.h"
#include "server/requests.h"

namespace dure {
namespace {

struct Route {
  std::string_view method;
  std::string_view path;  // one that ends in '/' takes whatever follows
  Handler* handler;
  bool guarded;    // needs an API key, where there are any
  bool on_worker;  // reads a body
};

constexpr std::array routes = {
    Route{"POST", "/v1/chat/completions", chat_completions, true, true},
    Route{"POST", "/v1/completions", completions, true, true},
    Route{"GET", "/v1/models", list_models, true, false},
    Route{"GET", "/v1/models/", get_model, true, false},
    Route{"POST", "/tokenize", tokenize, true, true},
    Route{"POST", "/detokenize", detokenize, true, true},
    Route{"GET", "/health", health, false, false},
    Route{"GET", "/version", version, false, false},
    Route{"GET", "/metrics", metrics, false, false},
};

bool matches(const Route& route, std::string_view path) {
  return route.path.ends_with('/') ? path.starts_with(route.path) && path.size() > route.path.size()
                                   : path == route.path;
}

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
  constexpr std::string_view scheme = "Bearer ";
  if (!authorization.starts_with(scheme)) return false;
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
  for (const Route& route : routes) {
    if (!matches(route, request.path)) continue;
    return refuse(exchange,
                  {.status = 405,
                   .message = fmt::format("{} takes {} requests only", route.path, route.method),
                   .code = "method_not_allowed"},
                  {{"Allow", std::string(route.method)}});
  }
  refuse(exchange, {.status = 404,
                    .message = fmt::format("there is no {:.100}", request.path),
                    .code = "not_found"});
}

}  // namespace

void handle_request(const ApiContext& context, HttpRequest request,
                    const std::shared_ptr<Exchange>& exchange) {
  const auto route = std::find_if(routes.begin(), routes.end(), [&](const Route& candidate) {
    return candidate.method == request.method && matches(candidate, request.path);
  });
  if (route == routes.end()) return refuse_unrouted(request, *exchange);
  if (route->guarded && !may_pass(context.options.api_keys, request.authorization)) {
    return refuse(*exchange, {.status = 401,
                              .message = "the API key is missing or wrong (send \"Authorization: "
                                         "Bearer KEY\")",
                              .code = "invalid_api_key"});
  }
  if (!route->on_worker) return call(*route, context, request, exchange);
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
  std::vector<uint64_t> ids = context.engine.submit(std::move(generations));
  exchange.when_closed([&engine = context.engine, ids = std::move(ids)] { engine.cancel(ids); });
}

}  // namespace dure
