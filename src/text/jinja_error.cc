// Names of the fault kinds and the commonest throws.
#include "text/jinja_error.h"

namespace dure::jinja {

std::string_view to_string(Fault fault) {
  switch (fault) {
    case Fault::raised:
      return "raise_exception";
    case Fault::undefined:
      return "undefined";
    case Fault::type:
      return "type";
    case Fault::value:
      return "other";
    case Fault::security:
      return "security";
    case Fault::syntax:
      return "syntax";
    case Fault::unsupported:
      return "unsupported";
    case Fault::recursion:
      return "recursion";
    case Fault::limit:
      return "limit";
  }
  return "other";
}

void fail_type(std::string message) {
  throw JinjaError(Fault::type, std::move(message));
}
void fail_value(std::string message) {
  throw JinjaError(Fault::value, std::move(message));
}

}  // namespace dure::jinja
