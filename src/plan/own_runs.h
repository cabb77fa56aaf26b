// A user's own measured runs, to which the constants of a step's time are fitted: `dure plan
// --calibrate FILE.csv`. Runs of the model, GPU and engine that the plan is about.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace dure {

struct PlanModel;

// Columns: tp, input, output, concurrency, ttft_ms, tpot_ms, and, where they are not 1, pp, dp, ep
// and replicas. Lengths in tokens on average, concurrency in requests in flight on all replicas,
// times as means over a run.
struct OwnRun {
  size_t line = 0;  // of the file
  Layout layout;
  int replicas = 1;
  int64_t input = 0;
  int64_t output = 0;
  int64_t concurrency = 0;
  double ttft = 0.0;  // seconds
  double tpot = 0.0;
};

// Throws bad_input naming line and column, and for a file without runs.
std::vector<OwnRun> read_own_runs(const std::filesystem::path& file);

struct Calibration {
  ServingProfile profile;
  std::string says;  // how far off before, after, and of runs that were left out
};

// Throws bad_input, naming the line, for a layout that the engine refuses or that does not fit.
// Where there are ten runs or more, the bands are those of runs that were left out.
Calibration calibrate(const PlanModel& model, const PlanQuestion& question,
                      const std::vector<OwnRun>& runs);

}  // namespace dure
