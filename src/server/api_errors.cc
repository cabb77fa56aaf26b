// See api_errors.h.
#include "server/api_errors.h"

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace dure {

ApiError api_error_of(const Error& error) {
  ApiError answer;
  answer.message = error.message();
  if (!error.hint().empty()) answer.message += " (" + error.hint() + ")";
  answer.param = error.field();
  switch (error.code()) {
    case ErrorCode::bad_input:
    case ErrorCode::answer_is_no:
      break;
    case ErrorCode::unavailable:
      answer.status = 503;
      answer.type = "service_unavailable";
      answer.retry_after_s = 1;
      break;
    case ErrorCode::overloaded:
      answer.status = 429;
      answer.type = "rate_limit_error";
      answer.code = "rate_limit_exceeded";
      answer.retry_after_s = 1;
      break;
    case ErrorCode::failed:
      answer.status = 500;
      answer.type = "server_error";
      break;
  }
  return answer;
}

std::string error_json(const ApiError& error) {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
  };
  const Json body = {{"error",
                      {{"message", error.message},
                       {"type", error.type},
                       {"param", text_or_null(error.param)},
                       {"code", text_or_null(error.code)}}}};
  // Messages may quote input that is not valid UTF-8.
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

HttpResponse error_response(const ApiError& error) {
  HttpResponse response;
  response.status = error.status;
  response.body = error_json(error);
  if (error.retry_after_s > 0) {
    response.headers.emplace_back("Retry-After", std::to_string(error.retry_after_s));
  }
  return response;
}

}  // namespace dure
