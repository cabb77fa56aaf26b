// The search: every layout is refused by its memory first, then by what its single steps promise,
// and only then replayed. Those that are left are ranked; all others keep their reason.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "cost/memory.h"
#include "plan/deployment.h"
#include "plan/plan.h"

namespace dure {

// What is the same for all layouts of a question: counted once.
struct PlanModel {
  PlanModel(const ModelSpec& spec, const PlanQuestion& question);

  ModelSpec spec;
  MemoryModel memory;
  WorkModel work;
  Numbers numbers;  // but the cache's
  ServingProfile engine;
};

// A layout that fits, and what it gives under the question's load.
struct Ranked {
  Deployment deployment;
  Service service;
  bool meets_limits = true;
  double score = 0.0;          // of the objective: more is better
  bool only_promised = false;  // the service is a best case, which no replay was worth
};

struct Found {
  std::vector<Ranked> ranked;    // keep the limits; best first, one of each layout
  std::vector<Ranked> missed;    // do not; nearest first, and the first is replayed
  std::vector<Deployment> fits;  // every layout that does, ranked or not
  std::vector<RejectedLayout> rejected;
  int64_t layouts = 0;
  int64_t replays = 0;
};

PlannedLoad load_of(const PlanQuestion& question);
// The same question about so many requests in flight.
PlanQuestion in_flight(PlanQuestion question, int64_t concurrency);
// So many requests in flight as there are when the load is served so.
PlannedLoad load_as_served(const PlanQuestion& question, const Service& service);
// At a given rate all layouts that keep up give the same tokens/s: the quickest is best.
double score_of(const PlanQuestion& question, const Service& service);

// By how much the limits are missed: 1 is met, 2 is twice one of them.
double excess(const PlanQuestion& question, const Service& service);
// "TPOT 48.0 ms above the limit of 30.0 ms"; empty where they are kept.
std::string miss_of(const PlanQuestion& question, const Service& service);

// Nothing where memory or the engine refuse it, as `why` then says.
std::optional<Deployment> deployment_of(const PlanModel& model, const PlanQuestion& question,
                                        const Layout& layout, const KvFormat& kv, int64_t chunk,
                                        RejectedLayout& why);

Found search(const PlanModel& model, const PlanQuestion& question, const PlanProgress& progress);

}  // namespace dure
