// What `dure serve` prints about its group: as planned, and as the running ranks report.
#pragma once

#include <string>

#include "cli/serve_setup.h"
#include "trace/event.h"

namespace dure {

// One line per rank: stage, dp, tp, layers, experts, bytes planned.
std::string planned_report(const ServeSetup& setup);
// One line per rank: host, process, instruction set, bytes resident.
std::string running_report(const GroupReady& ready);
// Of a rank on another host, whose spans are shifted to this host's clock.
Event clock_event(const ClockTold& told);
// About a group that took the place of a dead one, ready `seconds` after its start.
Event restarted_event(const GroupReady& ready, double seconds);
// Where it serves what; what running_report tells people is in /metrics for programs.
Event serving_event(const GroupReady& ready, const std::string& url, const ServeSetup& setup);

}  // namespace dure
