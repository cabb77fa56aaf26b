// A closed load on Dure's own scheduler: the very class that runs (schedule/scheduler.h), asked
// step by step on the clock of the cost model.
#pragma once

#include "simulate/closed_loop.h"

namespace dure {

// As replay(), for engines whose policy is StepPolicy::dure. Every step is planned, so it takes
// about a hundred times as long; long answers of many users are replayed with fewer requests each.
ServedMeans replay_scheduled(const StepWork& work, const Hardware& hardware,
                             const TimeConstants& constants, const EngineModel& engine,
                             const ClosedLoad& load);

}  // namespace dure
