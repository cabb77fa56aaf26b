// See launch_options.h.
#include "calibrate/launch_options.h"

#include <algorithm>

#include "simulate/serving_profile.h"

namespace dure {
namespace {

int64_t round_up(int64_t value, int64_t to) {
  return (value + to - 1) / to * to;
}

struct Run {
  const ServingRow& row;
  bool latent = false;  // attention: the DeepSeek family, which has scripts of its own
  bool mixture = false;
  bool blackwell = false;
  bool chat() const { return row.input == 1024 && row.output == 1024; }
  bool long_prompts() const { return row.input == 8192; }
};

// Sweeps of a tool that writes its engines' options: a step has room for the batch, one prompt and
// 1,500 tokens.
void launch_sweep(const Run& run, Launch& launch) {
  EngineModel& engine = launch.scheduling;
  if (run.row.engine == Engine::sglang) return;
  engine.budget = run.row.input + 1500 +
                  launch.concurrency * (run.row.engine == Engine::trtllm ? launch.layout.dp : 1);
  engine.overlapped = false;
}

// Until November 2025 the script chose expert and data parallelism by the load, whatever the row's
// label says.
void choose_layout_as_the_script_did(const Run& run, Launch& launch) {
  const int64_t load = run.row.in_all;
  const int gpus = launch.layout.stage_ranks();
  bool experts_apart = true;
  bool attention_apart = false;
  if (run.blackwell && run.row.weights == "nvfp4") {
    const int64_t few = gpus == 4 ? 32 : run.chat() ? 8 : 16;
    experts_apart = load > (run.long_prompts() ? 32 : few);
    attention_apart = run.long_prompts() ? load > 32 : load >= 256;
  } else {
    const bool early = run.blackwell ? run.chat() : run.long_prompts();
    attention_apart = load > (early ? 32 : 64);
  }
  if (experts_apart) launch.layout.ep = gpus;
  if (attention_apart) {
    launch.layout.tp = 1;
    launch.layout.dp = gpus;
  }
  launch.concurrency = std::max<int64_t>(1, load / launch.layout.dp);
}

void launch_trtllm(const Run& run, Launch& launch) {
  EngineModel& engine = launch.scheduling;
  const std::string& day = run.row.day;
  if (!run.mixture) {
    engine.budget =
        run.blackwell && run.row.weights == "nvfp4" ? run.row.input + run.row.output + 200 : 16384;
    if (run.chat() && launch.layout.tp < 8) {
      engine.wait_steps = 20;
      engine.wait_tokens = 0.9 * static_cast<double>(engine.budget);
    }
    return;
  }
  if (!run.latent) {
    engine.budget = 20000;
    return;
  }
  if (!day.empty() && day < "2025-11-10" && !run.row.prefill) {
    choose_layout_as_the_script_did(run, launch);
  }
  engine.budget = round_up(run.row.in_all + run.row.input + 64, 64);
  if (day > "2026-01-10") engine.budget = std::max<int64_t>(engine.budget, 8192);
  if (run.row.prefill) {
    engine.tells_after = 20;
  } else if (launch.layout.dp > 1) {
    engine.wait_steps = 60;
    engine.waits_for_peers = true;
  } else if (run.row.weights == "fp8" && run.blackwell && day > "2026-01-15" && run.chat() &&
             run.row.in_all >= 64) {
    engine.wait_steps = 40;
    engine.wait_tokens = 0.8 * static_cast<double>(engine.budget);
  }
}

void launch_sglang(const Run& run, Launch& launch) {
  EngineModel& engine = launch.scheduling;
  if (run.row.prefill) engine.tells_after = run.row.in_all > 16 ? 30 : 10;
  if (!run.blackwell) {
    engine.budget = 32768;
    return;
  }
  launch.cache_bytes = 1.0;
  engine.poll_steps = run.row.in_all >= 16 ? 30 : 10;
  engine.budget = 16384;
  engine.sequences = 256;
  if (run.row.weights != "fp8" || !run.latent) return;
  if (launch.layout.tp == 4) {
    engine.budget = 8192;
    engine.poll_steps = 10;
    engine.sequences = 32;
  } else {
    engine.budget = 32768;
    engine.sequences = 128;
  }
}

}  // namespace

Launch launch_of(const ServingRow& row, const ModelSpec& spec) {
  Run run{row};
  for (const LayerSpec& layer : spec.layers) {
    run.latent = run.latent || std::holds_alternative<MlaSpec>(layer.attention);
    run.mixture = run.mixture || std::holds_alternative<MoeFfn>(layer.ffn);
  }
  run.blackwell = row.system.rfind("b200", 0) == 0 || row.system.rfind("gb200", 0) == 0;
  Launch launch;
  launch.scheduling = serving_profile(row.engine).scheduling;
  launch.layout = row.layout;
  launch.concurrency = row.concurrency;
  // TensorRT-LLM's quantized checkpoints carry an fp8 cache with them.
  if (row.engine == Engine::trtllm && !row.weights.empty()) launch.cache_bytes = 1.0;
  if (!row.varied_lengths) {
    launch_sweep(run, launch);
  } else if (row.engine == Engine::trtllm) {
    launch_trtllm(run, launch);
  } else if (row.engine == Engine::sglang) {
    launch_sglang(run, launch);
  } else if (row.engine == Engine::vllm) {
    launch.cache_bytes = 1.0;
    launch.scheduling.overlapped = run.blackwell;  // --async-scheduling
  }
  return launch;
}

}  // namespace dure
