// What `dure serve` prints about its group: as planned, and as the running ranks report.
#pragma once

#include <string>

#include "cli/serve_setup.h"

namespace dure {

// One line per rank: stage, dp, tp, layers, experts, bytes planned.
std::string planned_report(const ServeSetup& setup);
// One line per rank: host, process, instruction set, bytes resident.
std::string running_report(const GroupReady& ready);
// One line about a group that took the place of a dead one, ready `seconds` after its start.
std::string restarted_report(const GroupReady& ready, double seconds);

}  // namespace dure
