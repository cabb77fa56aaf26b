// See error.h.
#include "base/error.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace dure {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::bad_input:
      return "bad_input";
    case ErrorCode::answer_is_no:
      return "answer_is_no";
    case ErrorCode::unavailable:
      return "unavailable";
    case ErrorCode::overloaded:
      return "overloaded";
    case ErrorCode::failed:
      return "failed";
  }
  return "failed";
}

ErrorCode error_code_from_string(std::string_view text) {
  for (ErrorCode code : {ErrorCode::bad_input, ErrorCode::answer_is_no, ErrorCode::unavailable,
                         ErrorCode::overloaded}) {
    if (to_string(code) == text) return code;
  }
  return ErrorCode::failed;
}

Error::Error(ErrorCode code, std::string message, std::string hint, std::string field)
    : std::runtime_error(message),
      code_(code),
      message_(std::move(message)),
      hint_(std::move(hint)),
      field_(std::move(field)) {}

void throw_bad_input(std::string message, std::string hint, std::string field) {
  throw Error(ErrorCode::bad_input, std::move(message), std::move(hint), std::move(field));
}

void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: internal check failed: %s\n", file, line, expression);
  std::abort();
}

}  // namespace dure
