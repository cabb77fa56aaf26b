// What `dure serve` prints about its group: as planned, and as the running ranks report.
#pragma once

#include <string>

#include "cli/serve_setup.h"

namespace dure {

// One line per rank: stage, dp, tp, layers, experts, bytes planned.
std::string planned_report(const ServeSetup& setup);
// One line per rank: host, process, instruction set, bytes resident.
std::string running_report(const GroupReady& ready);

}  // namespace dure
