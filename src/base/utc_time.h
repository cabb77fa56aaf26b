// Points in time as logs tell them.
#pragma once

#include <chrono>
#include <string>

namespace dure {

std::string utc_text(std::chrono::system_clock::time_point time);  // "2026-11-30T20:02:33.125Z"

}  // namespace dure
