// What is known of one request once it is over. All times are seconds on the transport's clock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dure::load {

enum class Outcome {
  completed,
  failed,       // see Trouble
  cancelled,    // by --cancel-fraction
  interrupted,  // under way when the run was stopped
};

// Why a request failed.
enum class Trouble {
  none,
  not_reached,     // no connection
  no_descriptors,  // this process has no file descriptor left
  timed_out,       // no byte for the time of --timeout
  hung_up,         // the connection ended before an answer began
  not_http,        // what came is not HTTP
  status,          // an HTTP status other than 200
  not_a_stream,    // 200, but no server-sent events
  bad_event,       // an event that is not JSON of the API
  error_event,     // the stream carried an error
  cut,             // the stream ended before its answer did
};

std::string_view to_string(Outcome outcome);
std::string_view to_string(Trouble trouble);  // "not_reached"

struct Record {
  int64_t number = 0;  // in the order of the schedule

  // When it was due. In a closed loop: when its client was free.
  double scheduled_s = 0.0;
  double sent_s = 0.0;  // when this program set out to send it; later than due if it is too slow
  // When each chunk with text arrived.
  std::vector<double> arrivals_s;
  double end_s = 0.0;  // the end of the answer, or of waiting for it

  int64_t asked_input = 0;  // tokens; 0: a prompt whose length is not known here
  int64_t asked_output = 0;
  bool has_usage = false;     // the server counted; else output_tokens are chunks
  int64_t input_tokens = 0;   // 0 without usage
  int64_t cached_tokens = 0;  // of input_tokens, found in the server's cache (if it says so)
  int64_t output_tokens = 0;

  Outcome outcome = Outcome::completed;
  Trouble trouble = Trouble::none;
  int status = 0;              // HTTP; 0: no answer
  double retry_after_s = 0.0;  // 0: not said
  std::string finish_reason;
  std::string detail;  // the server's or the system's words where it failed
};

}  // namespace dure::load
