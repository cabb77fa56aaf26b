// Replicas of one layout under a load: what users of it see, by replaying the load of each dp rank,
// and what no replay of it could exceed, which is found from single steps.
#pragma once

#include <cstdint>

#include "plan/candidates.h"
#include "plan/plan.h"
#include "plan/cache_room.h"
#include "simulate/closed_loop.h"

namespace dure {

// What is assumed of an engine's time, and how far that is off.
struct EngineTime {
  EngineModel model;
  TimeConstants constants;
  Band ttft;
  Band tpot;
};
EngineTime engine_time(Engine engine);

struct Deployment {
  Layout layout;
  Placement placement;
  int replicas = 1;
  KvFormat kv;
  int64_t chunk = 0;  // tokens of a step
  int64_t batch = 0;  // sequences of a dp rank
  CacheRoom room;
  StepWork work;
  Hardware hardware;

  int groups() const { return replicas * layout.dp; }  // dp ranks, each with sequences of its own
  int gpus() const { return replicas * layout.world(); }
};

// Requests of mean lengths `input` and `output`, uniform within 11% of them.
struct PlannedLoad {
  int64_t input = 0;
  int64_t output = 0;
  int64_t concurrency = 0;  // of all replicas
};

Service serve(const Deployment& deployment, const EngineTime& engine, const PlannedLoad& load);

// Better in every respect than serve() ever is.
Service best_case(const Deployment& deployment, const EngineTime& engine, const PlannedLoad& load);

// Sequences that the busiest dp rank decodes at once.
int64_t sequences_at_once(const Deployment& deployment, int64_t concurrency);

TypicalStep typical_decode(const Deployment& deployment, const EngineTime& engine,
                           const PlannedLoad& load);
TypicalStep typical_prefill(const Deployment& deployment, const EngineTime& engine,
                            const PlannedLoad& load);

}  // namespace dure
