// A measured row as the planner would replay it.
#pragma once

#include <optional>

#include "calibrate/serving_rows.h"
#include "model/spec.h"
#include "simulate/pools.h"

namespace dure {

struct PooledRun {
  Pool prefill;
  Pool decode;
  Handover handover;
};

struct MeasuredRun {
  StepWork work;
  Hardware hardware;
  EngineModel scheduling;
  ClosedLoad load;  // of one dp rank; with pools, of all
  std::optional<PooledRun> pools;
};

// Throws bad_input for a system that is not in the catalogue, and where the layout cannot be.
MeasuredRun measured_run(const ServingRow& row, const ModelSpec& spec);

ServedMeans predict(const MeasuredRun& run, const TimeConstants& constants);

}  // namespace dure
