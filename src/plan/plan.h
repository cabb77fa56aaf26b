// What a plan is asked, and what it answers: which layouts hold a model on so many GPUs under a
// load, how fast each is and why, and what became of all the others. Reports (text, JSON, a page)
// only read these structs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cluster/gpu.h"
#include "cluster/layout.h"
#include "cost/balance.h"
#include "cost/engine_profile.h"
#include "cost/memory.h"
#include "cost/step_time.h"
#include "cost/weight_format.h"
#include "model/spec.h"
#include "simulate/serving_profile.h"

namespace dure {

enum class Objective {
  throughput,  // most output tokens per second of all GPUs
  latency,     // shortest time from a request to its last token
  cost,        // most output tokens per second of each GPU in use
};
const char* to_string(Objective objective);

// What the cache's elements are stored as.
struct KvFormat {
  std::string name = "bf16";
  int64_t bytes = 2;  // of one element
  bool operator==(const KvFormat&) const = default;
};

struct PlanQuestion {
  std::string model;  // as the user named it
  Gpu gpu;            // with a speed: its name is of the catalogue
  int gpus = 8;
  int gpus_per_node = 8;
  double nic = 50e9;  // bytes per second of each GPU to other nodes, each way
  Engine engine = Engine::vllm;
  std::string engine_version;           // empty: the newest that was measured
  std::optional<WeightFormat> weights;  // matrices re-typed to it; nothing: the spec's own type
  std::string weights_asked;            // as the user named it; empty: as released
  std::vector<KvFormat> kv_formats = {KvFormat{}};
  double utilization = 0.0;  // of usable memory; 0: the engine's own
  // In place of what the engine is known for: fitted to runs of the user's own (own_runs.h).
  std::optional<ServingProfile> measured;
  std::string measured_says;  // by which, and how far off

  int64_t input = 1024;  // tokens of a request, on average
  int64_t output = 512;
  int64_t concurrency = 0;  // requests in flight, of all GPUs; 0: `rate` says the load
  double rate = 0.0;        // requests per second, of all GPUs; 0: `concurrency` does
  double ttft_limit = 0.0;  // seconds, of the mean; 0: none
  double tpot_limit = 0.0;
  Objective objective = Objective::throughput;
  bool disaggregate = false;  // pools of prefill and of decode workers too
  int top = 5;                // layouts ranked
  bool alternatives = true;   // ways out are counted too
};

// What users see, and what the GPUs give. Means over a run. Answers of one token have no TPOT:
// tpot, per_user and users are 0.
struct Service {
  double ttft = 0.0;             // seconds
  double tpot = 0.0;             // seconds
  double tokens_per_s = 0.0;     // of output, all replicas
  double per_gpu = 0.0;          // tokens/s of each GPU in use
  double per_user = 0.0;         // tokens/s that one user sees while decoding: 1 / tpot
  double users = 0.0;            // decoding at the same moment: tokens_per_s ÷ per_user
  double requests_per_s = 0.0;   // of all replicas
  double request_seconds = 0.0;  // from a request to its last token
  double in_flight = 0.0;        // requests, all replicas
};

struct PlannedRank {
  RankPlace place;
  int node = 0;  // of the replica's nodes
  int slot = 0;  // GPU of that node
  Range layers;
  Range experts;  // empty: none
  RankMemory memory;
  int64_t free = 0;  // bytes of the budget
};

// A step that the layout typically takes under the load, on one dp rank of one stage's GPUs.
struct TypicalStep {
  StepLoad load;
  StepTime time;
};

// Workers of one kind where prefill and decode are apart.
struct PlannedPool {
  Layout layout;
  int workers = 0;
  // Share of what it could take: of prompts per second, or of sequences in its cache.
  double busy = 0.0;
  int gpus() const { return workers * layout.world(); }
};

struct PlannedPools {
  PlannedPool prefill;
  PlannedPool decode;
  double transfer = 0.0;       // seconds for one prompt's cache over the NICs
  int64_t transfer_bytes = 0;  // of one prompt
};

struct PlannedLayout {
  Layout layout;  // of one replica; where pools are planned, of a decode worker
  std::optional<PlannedPools> pools;
  int replicas = 1;
  int gpus_used = 0;
  int gpus_idle = 0;       // that no replica has room on
  int nodes_each = 1;      // nodes of one replica
  int ranks_per_node = 1;  // of one replica
  KvFormat kv;
  int64_t chunk = 0;  // tokens of a step at most
  int64_t batch = 0;  // sequences of a dp rank at most at once

  std::vector<PlannedRank> ranks;  // of one replica
  size_t tightest = 0;             // the rank with the least free memory
  int64_t kv_tokens = 0;           // of one dp rank's cache

  Service service;
  ErrorBand ttft_band;
  ErrorBand tpot_band;
  // What no run had that the bands come from ("GPU a100-80", "pp 4"): it may be further off.
  std::vector<std::string> unmeasured;
  int64_t users_most = 0;       // requests in flight, all replicas, that cache and limits allow
  std::string users_end;        // what ends these: "cache", "TPOT", "TTFT"
  Bound bound = Bound::memory;  // of the decode step
  TypicalStep decode;
  TypicalStep prefill;
  Balance balance;  // of the decode step: tokens of a dp rank
  bool meets_limits = true;
  std::string miss;  // "TPOT 48.0 ms above the limit of 30 ms", where it does not
};

enum class RejectedFor {
  does_not_fit,   // memory
  engine,         // the engine has no such split
  placement,      // nodes cannot hold it evenly
  crosses_nodes,  // slower, and sums between nodes are why
  ttft,           // over the limit
  tpot,
  rate,    // requests come faster than it serves them
  slower,  // than those ranked
};
const char* to_string(RejectedFor why);

struct RejectedLayout {
  Layout layout;
  int replicas = 1;
  RejectedFor why = RejectedFor::slower;
  std::string reason;  // one line with its numbers
};

// Of one layout under one load. On the front: no other is better in both.
struct ParetoPoint {
  Layout layout;
  int replicas = 1;
  int64_t concurrency = 0;  // of all replicas
  double per_gpu = 0.0;     // output tokens/s
  double per_user = 0.0;
  double ttft = 0.0;  // seconds
  double tpot = 0.0;
  bool on_front = false;
  bool meets_limits = true;
};

// tp = GPUs per node, pp = nodes: what people try first, beside the best.
struct RuleOfThumb {
  Layout layout;
  std::optional<PlannedLayout> planned;  // nothing: it cannot run, as `why` says
  std::string why;                       // one line
  std::vector<std::string> difference;   // by operation, largest first
};

// A way out, or why it is none here.
struct Alternative {
  std::string title;  // "FP8 cache"
  bool applies = false;
  std::string text;                // what changes with its numbers, or why it does not apply
  std::optional<Service> service;  // of the best layout then
  std::optional<Layout> layout;
  int gpus = 0;
  int64_t users_most = 0;  // as of a planned layout
  bool meets_limits = false;
};

struct PlanAnswer {
  bool met = false;                      // something fits and keeps the limits
  std::vector<PlannedLayout> ranked;     // best first; where nothing keeps the limits, empty
  std::optional<PlannedLayout> closest;  // where `met` is false and something fits
  std::string verdict;                   // one line: the best, or what is missing
  std::vector<ParetoPoint> points;       // of all layouts and loads looked at; the front is marked
  std::vector<RejectedLayout> rejected;
  RuleOfThumb rule_of_thumb;
  std::vector<Alternative> alternatives;
  std::vector<std::string> remarks;      // on the checkpoint's formats; among the notes, too
  std::vector<std::string> notes;        // idle GPUs, unequal nodes
  std::vector<std::string> assumptions;  // one line each
  int64_t layouts = 0;                   // looked at
  int64_t replays = 0;                   // of the load
  int64_t weight_bytes = 0;              // of one copy of the model
};

// Called now and then with what has been looked at and what there is.
using PlanProgress = std::function<void(int64_t done, int64_t all)>;

// Throws bad_input for a question that has no meaning: a GPU of unknown speed, no load, two loads.
PlanAnswer plan(const ModelSpec& spec, const PlanQuestion& question,
                const PlanProgress& progress = {});

}  // namespace dure
