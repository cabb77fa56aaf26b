// The one exception of the house: what was wrong with which input, and what to do about it.
// Thrown at boundaries (files, flags, requests, peers); kernels never throw, and programming errors
// stop the process with DURE_CHECK.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace dure {

enum class ErrorCode {
  bad_input,     // a file, flag, request or message is wrong: exit 2, HTTP 400
  answer_is_no,  // does not fit, target not met, mismatch: exit 1
  unavailable,   // the group is down or restarting: HTTP 503
  overloaded,    // a limit is reached, try later: HTTP 429
  failed,        // broke while running: exit 3, HTTP 500
};

std::string_view to_string(ErrorCode code);
ErrorCode error_code_from_string(std::string_view text);  // unknown text reads as `failed`

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, std::string message, std::string hint = "", std::string field = "");

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  const std::string& hint() const { return hint_; }
  // The request field at fault ("temperature", "messages[0].role"), empty if none.
  const std::string& field() const { return field_; }

 private:
  ErrorCode code_;
  std::string message_;
  std::string hint_;
  std::string field_;
};

// Shorthand for the commonest kind.
[[noreturn]] void throw_bad_input(std::string message, std::string hint = "",
                                  std::string field = "");

[[noreturn]] void check_failed(const char* expression, const char* file, int line);

}  // namespace dure

// A condition that only a bug in Dure can break; never for input.
#define DURE_CHECK(expression) \
  ((expression) ? void() : ::dure::check_failed(#expression, __FILE__, __LINE__))
