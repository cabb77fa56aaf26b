// See engine_flags.h.
#include "cli/engine_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/error.h"

namespace dure {

void add_engine_flags(CLI::App& app, EngineFlags& flags) {
  app.add_option("--engine", flags.engine, "whose memory: dure, vllm, sglang or trtllm")
      ->capture_default_str();
  app.add_option("--engine-version", flags.version, "0.19.0, …; otherwise the newest measured");
}

void ask_for_engine(const EngineFlags& flags, double utilization, int64_t batch_tokens,
                    FitQuestion& question) {
  const Engine engine = find_engine(flags.engine);
  if (engine == Engine::dure) {
    if (!flags.version.empty()) {
      throw_bad_input(fmt::format("--engine-version {:.40}: Dure plans for itself", flags.version),
                      "say whose version with --engine", "engine-version");
    }
    return;
  }
  if (question.shared) {
    throw_bad_input(fmt::format("--engine {}: runs on GPUs", flags.engine),
                    "give --gpu h100 or another one, or leave --engine out", "engine");
  }
  ask_for_engine(engine_profile(engine, flags.version, question.memory_bytes), utilization,
                 batch_tokens, question);
}

}  // namespace dure
