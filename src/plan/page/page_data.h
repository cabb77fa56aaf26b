// What the page draws, as one JSON document: bytes, seconds, tokens, and every figure already
// worked out. Ranks, nodes and points that are alike are told once, so that a plan of thousands of
// GPUs is still small.
#pragma once

#include "base/json.h"
#include "plan/plan.h"

namespace dure {

// Strings may be any bytes where the user named something so.
Json page_data(const ModelSpec& spec, const PlanQuestion& question, const PlanAnswer& answer);

}  // namespace dure
