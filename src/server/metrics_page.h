// What GET /metrics says.
#pragma once

#include <string>

#include "server/engine_loop.h"

namespace dure {

struct MetricsPage {
  std::string model;           // its first name
  bool expert_series = false;  // token slots of each expert; else of each rank's together
};

std::string metrics_page(const MetricsPage& page, const EngineStatus& status,
                         const RankMeasures& measures);

}  // namespace dure
