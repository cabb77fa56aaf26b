// What can go wrong with a template, by kind: the kinds are those of the reference libraries, so
// that a caller can tell a template's own refusal from a mistake in it. Internal to src/text; the
// chat template turns it into dure::Error.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace dure::jinja {

enum class Fault {
  raised,       // the template called raise_exception: the message is its own
  undefined,    // an attribute, call or operation on an undefined value
  type,         // an operation on values of the wrong type
  value,        // a value of the right type that cannot be used (division by zero, bad number)
  security,     // a mutating method or an underscore attribute
  syntax,       // the source is not a template
  unsupported,  // valid Jinja that this interpreter refuses (include, random, ...)
  recursion,    // nested too deeply
  limit,        // too many steps, too much output or memory
};
std::string_view to_string(Fault fault);

class JinjaError : public std::runtime_error {
 public:
  JinjaError(Fault fault, std::string message, int line = 0)
      : std::runtime_error(message), fault(fault), message(std::move(message)), line(line) {}

  Fault fault;
  std::string message;
  int line;  // in the template's source, 1-based; 0 when not known
};

[[noreturn]] void fail_type(std::string message);
[[noreturn]] void fail_value(std::string message);

}  // namespace dure::jinja
