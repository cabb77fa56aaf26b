// How plan.h's enumerations are written, in reports and in JSON.
#include <array>

#include "plan/plan.h"

namespace dure {

const char* to_string(Objective objective) {
  constexpr std::array<const char*, 3> names = {"throughput", "latency", "cost"};
  return names[static_cast<size_t>(objective)];
}

const char* to_string(RejectedFor why) {
  constexpr std::array<const char*, 8> names = {
      "does_not_fit", "engine", "placement", "crosses_nodes", "ttft", "tpot", "rate", "slower"};
  return names[static_cast<size_t>(why)];
}

}  // namespace dure
