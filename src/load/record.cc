// See record.h: the names that reports and files use.
#include "load/record.h"

#include "base/error.h"

namespace dure::load {

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::completed:
      return "completed";
    case Outcome::failed:
      return "failed";
    case Outcome::cancelled:
      return "cancelled";
    case Outcome::interrupted:
      return "interrupted";
  }
  DURE_CHECK(false);
  return "";
}

std::string_view to_string(Trouble trouble) {
  switch (trouble) {
    case Trouble::none:
      return "none";
    case Trouble::not_reached:
      return "not_reached";
    case Trouble::no_descriptors:
      return "no_descriptors";
    case Trouble::timed_out:
      return "timed_out";
    case Trouble::hung_up:
      return "hung_up";
    case Trouble::not_http:
      return "not_http";
    case Trouble::status:
      return "status";
    case Trouble::not_a_stream:
      return "not_a_stream";
    case Trouble::bad_event:
      return "bad_event";
    case Trouble::error_event:
      return "error_event";
    case Trouble::cut:
      return "cut";
  }
  DURE_CHECK(false);
  return "";
}

}  // namespace dure::load
