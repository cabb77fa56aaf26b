// What `dure plan --json` prints: stable keys, bytes, seconds, tokens.
#pragma once

#include "base/json.h"
#include "plan/plan.h"

namespace dure {

Json plan_json(const PlanQuestion& question, const PlanAnswer& answer);

}  // namespace dure
