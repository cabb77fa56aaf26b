// How the engines of measured runs had been launched, where it is not the engine's default: a
// scheduler told to wait for fuller batches shows in every first token, and no model of the engine
// could know. Taken from the launch scripts that the public benchmarks keep in their repositories
// (InferenceX: benchmarks/*_slurm.sh and single_node/*.sh; aiconfigurator: generator/rule_plugin
// and backend_templates), by what a row says of itself.
#pragma once

#include "calibrate/serving_rows.h"
#include "model/spec.h"
#include "simulate/closed_loop.h"

namespace dure {

struct Launch {
  EngineModel scheduling;
  Layout layout;             // what the script really started
  int64_t concurrency = 1;   // of one of its dp ranks
  double cache_bytes = 2.0;  // of a cached element
};

Launch launch_of(const ServingRow& row, const ModelSpec& spec);

}  // namespace dure
