// --engine and --engine-version: whose memory is planned for.
#pragma once

#include <optional>
#include <string>

#include "cost/fit.h"

namespace CLI {
class App;
}

namespace dure {

struct EngineFlags {
  std::string engine = "dure";
  std::string version;  // empty: the newest that was measured
};

void add_engine_flags(CLI::App& app, EngineFlags& flags);

// Turns a question about Dure's own memory into one about the engine's: nothing changes for dure.
// `utilization` and `batch_tokens` as the user gave them, 0 where not: the engine has its own.
// Throws bad_input for an unknown engine or version, one that was not measured on this machine's
// CPUs, and a version of none.
void ask_for_engine(const EngineFlags& flags, double utilization, int64_t batch_tokens,
                    FitQuestion& question);

}  // namespace dure
