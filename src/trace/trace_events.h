// Events of Chrome's trace format (JSON), which Perfetto and chrome://tracing show: each function
// adds whole events to a text, every one behind a comma and a line's end.
//
// Tracks: process 1 is the server, with a line for each step that may be out at once; process 10 +
// r is rank r, with one line.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/event.h"
#include "trace/step_clock.h"

namespace dure {

// A step as the server sees it.
struct TracedStep {
  uint64_t id = 0;
  int64_t sent_ns = 0;
  int64_t done_ns = 0;
  int32_t lane = 0;  // steps that overlap have others
  std::string kind;  // "decode"
  int64_t slices = 0;
  int64_t tokens = 0;
};

// All times are of CLOCK_MONOTONIC, told from `epoch_ns` on.
void append_server(std::string& text);
void append_rank(std::string& text, int rank, const std::string& title);  // "rank 2 on node1"
void append_step(std::string& text, int64_t epoch_ns, const TracedStep& step);
void append_spans(std::string& text, int64_t epoch_ns, int rank,
                  const std::vector<std::string>& names, std::span<const Span> spans);
void append_mark(std::string& text, int64_t epoch_ns, int64_t at_ns, const Event& event);

}  // namespace dure
