// A load's numbers as JSON, and its requests one by one as files.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/json.h"
#include "load/load_run.h"
#include "load/summary.h"

namespace dure::load {

// SI numbers; keys end in their unit. docs/bench.md lists them.
Json summary_json(const Summary& summary, const Goal& goal);
Json percentiles_json(const Percentiles& percentiles);

// A line for each request of the load and of its background; times since the load's start.
std::string records_csv(const LoadResult& result);

// The same with every chunk's arrival.
Json records_json(const LoadResult& result);

}  // namespace dure::load
