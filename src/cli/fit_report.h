// What `dure fit` prints: one answer, as a table for people or as JSON.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "cluster/gpu.h"
#include "cost/fit.h"
#include "cost/floor.h"

namespace dure {

struct FitReport {
  std::string model;
  Gpu gpu;
  int64_t min_gpus = 0;      // for the weights alone, on paper
  int64_t weight_bytes = 0;  // of one copy
  std::string weight_format;
  std::string kv_format;
  std::vector<AtBest> at_best;  // of min_gpus, and of more
  FitQuestion question;
  FitAnswer answer;
  std::optional<EngineCapacity> printed;  // what the engine will say, of one dp group
  std::optional<FitAnswer> nearest;       // where the answer is no
  std::vector<std::string> remarks;
};

std::string fit_table(const ModelSpec& spec, const FitReport& report);
Json fit_json(const ModelSpec& spec, const FitReport& report);

}  // namespace dure
