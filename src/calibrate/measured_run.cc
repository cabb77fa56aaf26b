// See measured_run.h.
#include "calibrate/measured_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "calibrate/launch_options.h"
#include "cost/memory.h"

namespace dure {
namespace {

// As benchmarks name what products read and in which numbers they multiply; 4 bits with a scale for
// each 16, 32 or 128 weights.
MatrixFormat matrix_format(const std::string& quantization) {
  struct Named {
    std::string_view name;
    MatrixFormat format;
  };
  static constexpr Named known[] = {
      {"", {2.0, MathUnit::bf16}},
      {"bf16", {2.0, MathUnit::bf16}},
      {"bfloat16", {2.0, MathUnit::bf16}},
      {"fp16", {2.0, MathUnit::bf16}},
      {"float16", {2.0, MathUnit::bf16}},
      {"fp8", {1.0, MathUnit::fp8}},
      {"fp8_block", {1.0, MathUnit::fp8}},
      {"fp8_static", {1.0, MathUnit::fp8}},
      {"fp8_ootb", {1.0, MathUnit::fp8}},
      {"sq", {1.0, MathUnit::fp8}},
      {"int8_wo", {1.0, MathUnit::bf16}},
      {"int4_wo", {0.53125, MathUnit::bf16}},
      {"w4afp8", {0.53125, MathUnit::fp8}},
      {"nvfp4", {0.5625, MathUnit::fp4}},
      {"mxfp4", {0.53125, MathUnit::fp4}},
      {"w4a16_mxfp4", {0.53125, MathUnit::bf16}},
      {"w4a8_mxfp4_mxfp8", {0.53125, MathUnit::fp8}},
  };
  std::vector<std::string_view> names;
  for (const Named& each : known) {
    if (each.name == quantization) return each.format;
    if (!each.name.empty()) names.push_back(each.name);
  }
  throw_bad_input(fmt::format("weights as {:.40}: not a known format", quantization),
                  fmt::format("known: {}", fmt::join(names, ", ")));
}

// NVFP4 releases of latent-attention models keep attention in bf16.
Numbers numbers_of(const ServingRow& row, const ModelSpec& spec, double cache_bytes) {
  Numbers numbers{matrix_format(row.weights), matrix_format(row.weights),
                  matrix_format(row.experts), cache_bytes};
  const bool latent = std::any_of(spec.layers.begin(), spec.layers.end(), [](const auto& layer) {
    return std::holds_alternative<MlaSpec>(layer.attention);
  });
  if (latent && row.weights == "nvfp4") numbers.attention = {};
  return numbers;
}

double weight_bytes(const StepWork& work) {
  double bytes = 2.0 * work.head.bytes;  // the embedding is as large
  for (const LayerWork& kind : work.kinds) {
    bytes += kind.layers *
             (kind.attention.bytes + kind.dense.bytes + kind.expert.bytes * kind.experts_held);
  }
  return bytes;
}

double cache_bytes_per_token(const StepWork& work) {
  double bytes = 0.0;
  for (const LayerWork& kind : work.kinds) bytes += kind.layers * kind.cache_bytes;
  return bytes;
}

// Rows do not tell how much memory their engines were allowed; few of them come near its end.
double cache_tokens(const StepWork& work, const Gpu& gpu, const ServingRow& row) {
  const double room = 0.95 * static_cast<double>(gpu.usable_bytes) - weight_bytes(work) - 3e9;
  const double least = 2.0 * static_cast<double>(row.input + row.output);
  return std::max(least, room / std::max(cache_bytes_per_token(work), 1.0));
}

}  // namespace

MeasuredRun measured_run(const ServingRow& row, const ModelSpec& spec) {
  const Gpu gpu = find_gpu(row.system.substr(0, row.system.find('_')));
  if (!gpu.speed) throw_bad_input(fmt::format("{}: its speed is not known", row.system));
  const Launch launch = launch_of(row, spec);
  const Numbers numbers = numbers_of(row, spec, launch.cache_bytes);
  MeasuredRun run;
  run.hardware = {*gpu.speed, std::max(gpu.speed->domain, 1), 50e9};
  run.scheduling = launch.scheduling;
  run.load.input = row.input;
  run.load.output = row.output;
  run.load.shortest = row.varied_lengths ? 0.8 : 1.0;
  run.load.concurrency = static_cast<int>(launch.concurrency);
  if (row.prefill && row.decode) {
    check_layout(row.prefill->layout);
    check_layout(row.decode->layout);
    PooledRun pools;
    pools.prefill = {work_of(spec, row.prefill->layout, numbers), launch.scheduling,
                     row.prefill->workers};
    pools.decode = {work_of(spec, row.decode->layout, numbers), launch.scheduling,
                    row.decode->workers};
    const int gpus = row.prefill->layout.stage_ranks();
    pools.handover.bytes_per_token =
        cache_bytes_per_token(pools.prefill.work) * static_cast<double>(row.prefill->layout.tp);
    pools.handover.bytes_per_s = run.hardware.nic * gpus;
    run.load.concurrency = static_cast<int>(row.in_all);
    run.pools = pools;
    return run;
  }
  check_layout(launch.layout);
  run.work = work_of(spec, launch.layout, numbers);
  run.scheduling.cache_tokens = cache_tokens(run.work, gpu, row);
  return run;
}

ServedMeans predict(const MeasuredRun& run, const TimeConstants& constants) {
  if (run.pools) {
    return replay_pools(run.pools->prefill, run.pools->decode, run.pools->handover, run.hardware,
                        constants, run.load);
  }
  return replay(run.work, run.hardware, constants, run.scheduling, run.load);
}

}  // namespace dure
