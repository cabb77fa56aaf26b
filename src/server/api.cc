// See api.h.
#include "server/api.h"

#include <fmt/format.h>

#include "server/api_errors.h"
#include "server/api_keys.h"
#include "server/api_routes.h"
#include "server/requests.h"

namespace dure {
namespace {

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
  if (route->guarded && !context.options.api_keys.empty() &&
      !key_index(context.options.api_keys, request.authorization)) {
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

}  // namespace dure
