// What requests took and had, in the buckets that dashboards of this field know.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "server/histogram.h"

namespace dure {

using SteadyTime = std::chrono::steady_clock::time_point;

// When one request was where.
struct RequestTimes {
  SteadyTime submitted;
  std::optional<SteadyTime> started;  // its first step
  std::optional<SteadyTime> first;    // token
  SteadyTime last;                    // token
};

struct RequestHistograms {
  RequestHistograms();

  void token(RequestTimes& times, SteadyTime now);
  void end(const RequestTimes& times, int64_t prompt_tokens, int64_t completion_tokens);
  void step(int64_t tokens) { step_tokens.add(static_cast<double>(tokens)); }

  // Seconds.
  Histogram first_token;  // from the submission
  Histogram between_tokens;
  Histogram whole;
  Histogram queue;    // to the first step
  Histogram prefill;  // from there to the first token
  Histogram decode;   // from there to the last
  // Tokens.
  Histogram prompt_tokens;
  Histogram completion_tokens;
  Histogram step_tokens;
};

}  // namespace dure
