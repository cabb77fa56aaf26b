// A closed load on two pools: workers that only prefill, and workers that only decode what those
// hand over, cache and all (Zhong et al. 2024, arXiv:2401.09670; Patel et al. 2023,
// arXiv:2311.18677).
#pragma once

#include "simulate/closed_loop.h"

namespace dure {

struct Pool {
  StepWork work;  // of a rank of one worker
  EngineModel scheduling;
  int workers = 1;
};

struct Handover {
  double bytes_per_token = 0.0;  // of cache, of all ranks of a worker
  double bytes_per_s = 50e9;     // between two workers, all their NICs together
};

// `load.concurrency` requests in flight in both pools together. A first token is told once its
// cache has been handed over and one more step is done, as engines do it.
ServedMeans replay_pools(const Pool& prefill, const Pool& decode, const Handover& handover,
                         const Hardware& hardware, const TimeConstants& constants,
                         const ClosedLoad& load);

}  // namespace dure
