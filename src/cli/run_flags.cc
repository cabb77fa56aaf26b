// See run_flags.h.
#include "cli/run_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/error.h"
#include "cli/growth_note.h"
#include "cli/number_range.h"
#include "cli/progress.h"
#include "cluster/machine_memory.h"
#include "cluster/this_machine.h"
#include "cost/check_fits.h"
#include "cost/shard.h"
#include "model/checkpoint.h"
#include "model/load_spec.h"

namespace dure {

Compute RunFlags::chosen_compute() const {
  if (compute == "auto") return default_compute();
  return compute == "fp32" ? Compute::fp32 : Compute::bf16;
}

CodeFormat RunFlags::chosen_quantize() const {
  return find_code_format(quantize).value_or(CodeFormat::none);
}

DType RunFlags::chosen_kv_type() const {
  if (kv_type == "auto") return chosen_compute() == Compute::fp32 ? DType::f32 : DType::bf16;
  if (kv_type == "fp8") return DType::fp8;
  return kv_type == "fp32" ? DType::f32 : DType::bf16;
}

int RunFlags::chosen_threads() const {
  return threads > 0 ? threads : default_threads(layout.layout.world());
}

GroupOptions RunFlags::group_options() const {
  GroupOptions options;
  options.hosts_file = hosts_file;
  options.start.model = std::filesystem::absolute(model).string();
  options.start.layout = layout.layout;
  options.start.compute = chosen_compute();
  options.start.quantize = chosen_quantize();
  options.start.kv_dtype = chosen_kv_type();
  options.start.threads = chosen_threads();
  options.start.capacity.factor = expert_capacity;
  options.start.capacity.overflow =
      expert_overflow == "next" ? ExpertOverflow::next : ExpertOverflow::drop;
  return options;
}

void add_quantize_flag(CLI::App& app, std::string& format) {
  app.add_option("--quantize", format,
                 "make matrices integers while loading: q8 (8 bits, half of bf16's memory) or q4 "
                 "(4 bits, a quarter, coarser answers), 32 weights to a scale")
      ->check(CLI::IsMember({"none", "q8", "q4"}))
      ->capture_default_str();
}

void add_run_flags(CLI::App& app, RunFlags& flags) {
  app.add_option("MODEL", flags.model, "a Hugging Face folder or a GGUF file")->required();
  add_layout_flags(app, flags.layout);
  app.add_option("--compute", flags.compute,
                 "what products are made of; auto: bf16 where the CPU has it")
      ->check(CLI::IsMember({"auto", "bf16", "fp32"}))
      ->capture_default_str();
  add_quantize_flag(app, flags.quantize);
  app.add_option("--kv-type", flags.kv_type,
                 "of the cached keys and values; auto: that of --compute. fp8 is E4M3 without "
                 "scales: half of bf16's memory, coarser answers")
      ->check(CLI::IsMember({"auto", "bf16", "fp32", "fp8"}))
      ->capture_default_str();
  app.add_option("--threads", flags.threads, "of each rank; 0 shares out the cores")
      ->check(CLI::Range(0, 1024));
  app.add_option("--hosts", flags.hosts_file, "hostfile of mpirun, the first host is this one");
  CLI::Option* capacity =
      app.add_option("--expert-capacity", flags.expert_capacity,
                     "bounds each expert to this many times its even share of the token slots of a "
                     "step and dp group; answers then depend on the batch. Default: no bound")
          ->check(number_between(1e-3, 1e6));
  app.add_option("--expert-overflow", flags.expert_overflow,
                 "what becomes of slots beyond the bound: dropped, or for the token's next best "
                 "expert that has room")
      ->check(CLI::IsMember({"drop", "next"}))
      ->needs(capacity)
      ->capture_default_str();
}

void check_expert_capacity(const RunFlags& flags, const ModelSpec& spec) {
  if (flags.expert_capacity == 0.0) return;
  const bool mixture =
      std::any_of(spec.layers.begin(), spec.layers.end(),
                  [](const LayerSpec& layer) { return std::holds_alternative<MoeFfn>(layer.ffn); });
  if (!mixture) {
    throw_bad_input(fmt::format("--expert-capacity {}: a {} model of this config has no experts",
                                flags.expert_capacity, spec.family),
                    "leave it out");
  }
}

std::unique_ptr<BlockingGroup> start_ranks(const GroupOptions& options) {
  Progress bar("loading");
  return std::make_unique<BlockingGroup>(options, [&](const LoadProgress& loaded) {
    bar.show(loaded.bytes_done, loaded.bytes_total);
  });
}

void check_run_flags(const RunFlags& flags) {
  check_layout_flags(flags.layout);
  const ModelSpec spec = load_spec(flags.model);
  check_layout_for(spec, flags.layout.layout);
  check_expert_capacity(flags, spec);
  const auto checkpoint = CheckpointReader::open(flags.model);
  const std::vector<Weight> weights = bind_inventory(spec, *checkpoint);
  const std::string note =
      growth_note(weights, *checkpoint, spec, {flags.chosen_compute(), flags.chosen_quantize()});
  if (!note.empty()) fmt::print(stderr, "{}\n", note);
  RunShape shape;  // without a cache: what these commands need of one is small beside the weights
  shape.compute = flags.chosen_compute();
  shape.quantize = flags.chosen_quantize();
  const int world = flags.layout.layout.world();
  const int per_node = flags.layout.ranks_per_node;
  check_fits_this_machine(spec, weights, flags.layout.layout, shape,
                          per_node > 0 ? std::min(per_node, world) : world, available_memory());
}

}  // namespace dure
