// Errors as OpenAI's clients read them: {"error": {"message", "type", "param", "code"}} with the
// status that decides which exception they raise.
#pragma once

#include <string>

#include "base/error.h"
#include "server/http_message.h"

namespace dure {

struct ApiError {
  int status = 400;
  std::string message;
  std::string type = "invalid_request_error";
  std::string param{};    // the field at fault; empty: null
  std::string code{};     // "model_not_found"; empty: null
  int retry_after_s = 0;  // 0: no Retry-After header
};

ApiError api_error_of(const Error& error);
std::string error_json(const ApiError& error);
HttpResponse error_response(const ApiError& error);

}  // namespace dure
