// What requests took and had, in the buckets that dashboards of this field know.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

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

// What a step held: prompts, or one token each of sequences that have theirs done, or both.
enum class StepKind : uint8_t { prefill, decode, mixed };
inline constexpr size_t step_kinds = 3;
std::string_view to_string(StepKind kind);  // "prefill"

struct RequestHistograms {
  RequestHistograms();

  void token(RequestTimes& times, SteadyTime now);
  void end(const RequestTimes& times, int64_t prompt_tokens, int64_t completion_tokens);
  void step_took(StepKind kind, double seconds) {
    step_seconds[static_cast<size_t>(kind)].add(seconds);
  }
  void step(int64_t tokens) { step_tokens.add(static_cast<double>(tokens)); }

  // Seconds.
  Histogram first_token;  // from the submission
  Histogram between_tokens;
  Histogram whole;
  Histogram queue;                                 // to the first step
  Histogram prefill;                               // from there to the first token
  Histogram decode;                                // from there to the last
  std::array<Histogram, step_kinds> step_seconds;  // by StepKind
  // Tokens.
  Histogram prompt_tokens;
  Histogram completion_tokens;
  Histogram step_tokens;
};

}  // namespace dure
