// What `dure bench` measured, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/json.h"
#include "load/load_run.h"
#include "load/summary.h"

namespace dure {

struct BenchReport {
  std::string title;
  load::Goal goal;
  bool ids = false;  // prompts were token ids
  const load::LoadResult* result = nullptr;
  load::Summary summary;
  load::Summary background;  // of nothing where there is none
};

// `settings`, an object of what was run, and the numbers; keys as in docs/bench.md.
Json bench_json(const BenchReport& report, const Json& settings);
std::string bench_text(const BenchReport& report);

// "12 s: 240 of 1,000 done, 64 under way, 3 failed".
std::string bench_progress(const load::LoadProgress& progress, int64_t requests);

}  // namespace dure
