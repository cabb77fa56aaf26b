// The numbers of a load out of its records. docs/bench.md defines each one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "load/record.h"

namespace dure::load {

struct Percentiles {
  int64_t count = 0;  // all others are 0 where this is
  double mean = 0.0;
  double p50 = 0.0;
  double p90 = 0.0;
  double p95 = 0.0;
  double p99 = 0.0;
  double max = 0.0;
};

// Between the two nearest ranks, linearly (numpy's default, as vLLM's and SGLang's clients use it).
Percentiles percentiles_of(std::vector<double> values);

double ttft_of(const Record& record);                 // seconds; needs a token
std::optional<double> tpot_of(const Record& record);  // seconds; from two tokens on
double e2e_of(const Record& record);                  // seconds

// The bounds that a request must meet to count as good; those not set do not matter.
struct Goal {
  std::optional<double> ttft_s;
  std::optional<double> tpot_s;
  std::optional<double> e2e_s;

  bool any() const { return ttft_s || tpot_s || e2e_s; }
  // Only a completed request can.
  bool is_met_by(const Record& record) const;
  // "ttft:500ms,tpot:50ms,e2e:30s". Throws bad_input.
  static Goal parse(std::string_view text, std::string_view what);
};

struct ErrorCount {
  Trouble trouble = Trouble::none;
  int status = 0;  // HTTP's, where that is the trouble
  int64_t count = 0;
  std::string example;         // what the first one said
  double retry_after_s = 0.0;  // the longest that was asked; 0: none
};

struct Summary {
  double duration_s = 0.0;  // from the load's start to the end of its last answer
  int64_t sent = 0;
  int64_t completed = 0;
  int64_t failed = 0;
  int64_t cancelled = 0;
  int64_t interrupted = 0;
  std::vector<ErrorCount> errors;  // the commonest first

  // Of completed requests.
  int64_t without_text = 0;  // ended before any
  int64_t ended_early = 0;   // with fewer tokens than were asked
  int64_t with_usage = 0;    // the server counted their tokens
  int64_t input_tokens = 0;  // of those
  int64_t cached_tokens = 0;
  int64_t output_tokens = 0;
  int64_t chunks = 0;
  double requests_per_s = 0.0;
  double input_tokens_per_s = 0.0;
  double output_tokens_per_s = 0.0;
  double mean_in_flight = 0.0;  // requests of any outcome

  Percentiles ttft_s;
  Percentiles tpot_s;
  Percentiles itl_s;
  Percentiles e2e_s;
  Percentiles send_lag_s;  // of all that were sent

  int64_t good = 0;  // requests that met the goal
  double goodput_per_s = 0.0;
};

// start_s: the load's, on the records' clock.
Summary summarize(const std::vector<Record>& records, double start_s, const Goal& goal);

// Gaps between chunks of completed requests, apart by whether any request of `others` was between
// being sent and its first token meanwhile: what long prompts do to streams beside them.
struct DisturbedGaps {
  Percentiles during_s;
  Percentiles otherwise_s;
};
DisturbedGaps gaps_beside(const std::vector<Record>& records, const std::vector<Record>& others);

}  // namespace dure::load
