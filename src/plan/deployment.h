// Replicas of one layout under a load: what users of it see, by replaying the load of each dp rank,
// and what no replay of it could exceed, which is found from single steps.
#pragma once

#include <cstdint>

#include "plan/cache_room.h"
#include "plan/candidates.h"
#include "plan/plan.h"
#include "simulate/serving_profile.h"

namespace dure {

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
  double rate = 0.0;        // requests per second instead, of all replicas; 0: concurrency
};

// The load as it is replayed, for so many users of one dp rank, or of two pools.
ClosedLoad closed_load(const PlannedLoad& load, int64_t concurrency);

// From means and tokens/s, what follows of them.
void complete(Service& service, int gpus, const PlannedLoad& load);

// Of a rate: the fewest requests in flight at which as many end each second; Service::in_flight
// says how many. Where not even a full cache serves the rate, what that serves.
Service serve(const Deployment& deployment, const ServingProfile& engine, const PlannedLoad& load);

// Better in every respect than serve() ever is.
Service best_case(const Deployment& deployment, const ServingProfile& engine,
                  const PlannedLoad& load);

// Sequences that the busiest dp rank decodes at once.
int64_t sequences_at_once(const Deployment& deployment, int64_t concurrency);

TypicalStep typical_decode(const Deployment& deployment, const ServingProfile& engine,
                           const PlannedLoad& load);
TypicalStep typical_prefill(const Deployment& deployment, const ServingProfile& engine,
                            const PlannedLoad& load);

}  // namespace dure
