// How long `dure plan` takes, on one core: whole answers, ways out left out, and what a layout
// costs.
#include <benchmark/benchmark.h>

#include "cost/retype.h"
#include "model/presets.h"
#include "plan/plan.h"

namespace dure {
namespace {

void answer(benchmark::State& state, const char* preset, Engine engine) {
  ModelSpec spec = spec_of(*find_preset(preset));
  PlanQuestion question;
  question.model = preset;
  question.gpu = find_gpu("h200");
  question.gpus = static_cast<int>(state.range(0));
  question.engine = engine;
  question.weights = retype(spec, "");
  question.input = 2000;
  question.output = 500;
  question.concurrency = 16 * state.range(0);
  question.alternatives = false;
  int64_t layouts = 0;
  int64_t replays = 0;
  for (auto _ : state) {
    const PlanAnswer found = plan(spec, question);
    layouts += found.layouts;
    replays = found.replays;
  }
  const auto runs = static_cast<double>(state.iterations());
  state.counters["layouts"] = static_cast<double>(layouts) / runs;
  state.counters["replays"] = static_cast<double>(replays);
  state.counters["layouts/s"] =
      benchmark::Counter(static_cast<double>(layouts), benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(answer, deepseek_v3_dure, "deepseek-v3", Engine::dure)
    ->Arg(16)
    ->Arg(128)
    ->Arg(512)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(answer, deepseek_v3_vllm, "deepseek-v3", Engine::vllm)
    ->Arg(16)
    ->Arg(512)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(answer, llama_405b_vllm, "llama-3.1-405b", Engine::vllm)
    ->Arg(64)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dure

BENCHMARK_MAIN();
