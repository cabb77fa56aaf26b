// Which requests a load is made of: what each asks, and in open loops when it is due. A pure
// function of the settings and the seed, made one request at a time.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "load/lengths.h"
#include "load/prompt.h"
#include "load/trace.h"

namespace dure::load {

// Prompts that begin alike: `groups` beginnings of `tokens`, `prompts` of each, in drawn order.
struct SharedPrefix {
  int64_t groups = 0;  // 0: none
  int64_t prompts = 0;
  int64_t tokens = 0;

  // "150x5x1500": groups, prompts each, tokens. Throws bad_input.
  static SharedPrefix parse(std::string_view text, std::string_view what);
};

struct WorkloadSpec {
  // Closed loop: as many clients as this, each with one request at a time. 0: an open loop.
  int concurrency = 1;
  // Open loop: requests per second, a Poisson process; infinite: all at once. With a trace, its
  // times hold instead, divided by `speed`.
  double rate = 0.0;
  double speed = 1.0;

  int64_t requests = std::numeric_limits<int64_t>::max();
  double duration_s = std::numeric_limits<double>::infinity();  // none is sent or due later
  Lengths input{128};
  Lengths output{64};
  SharedPrefix shared;               // its own tokens come before those of `input`
  Trace trace;                       // its lengths hold instead of input's and output's
  std::vector<GivenPrompt> prompts;  // these, in turn, instead of drawn ones
  double cancel_fraction = 0.0;      // of the requests, after a drawn number of chunks
  uint64_t seed = 1;
};

struct RequestPlan {
  int64_t number = 0;
  double at_s = 0.0;  // since the load's start; closed loops: 0
  Prompt prompt;
  int64_t input = 0;  // tokens; 0: not known
  int64_t output = 0;
  std::optional<int64_t> cancel_after;  // chunks
};

class Workload {
 public:
  explicit Workload(WorkloadSpec spec);

  const WorkloadSpec& spec() const { return spec_; }
  bool is_closed() const { return spec_.concurrency > 0; }
  int64_t size() const { return size_; }  // requests, unless the duration ends it before

  std::optional<RequestPlan> next();
  bool is_over() const { return made_ >= size_; }
  // As the first requests in length, but of prompts that no other request shares; never cancelled.
  RequestPlan warm_up(int64_t index) const;

 private:
  void make_prompt(RequestPlan& plan, bool shares) const;

  WorkloadSpec spec_;
  int64_t size_ = 0;
  int64_t made_ = 0;
  double clock_s_ = 0.0;
  Draws arrivals_;
  std::vector<int64_t> order_;  // of the shared prefixes: the group of each request
};

}  // namespace dure::load
