// dure fit MODEL --gpu GPU: bytes per rank by kind, before anything is loaded, and the nearest
// layout that fits if this one does not.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/fit_report.h"
#include "cli/floor_report.h"
#include "cli/layout_flags.h"
#include "cli/model_argument.h"
#include "cli/number_range.h"
#include "cli/run_flags.h"
#include "cluster/machine_memory.h"
#include "cluster/this_machine.h"
#include "cost/retype.h"

namespace dure {
namespace {

constexpr int64_t gpu_batch_tokens = 8192;
constexpr double cpu_utilization = 1.0;  // of what is available, as `dure serve` counts it
constexpr int64_t most_batch_tokens = int64_t{1} << 20;
constexpr int64_t most_tokens = int64_t{1} << 40;

struct Options {
  std::string model;
  std::string gpu;
  std::string weights;
  std::string context;
  std::string sequences = "1";
  std::string max_batch_tokens;
  std::string kv_dtype = "auto";
  std::string compute = "auto";
  std::string quantize = "none";
  double utilization = 0.0;  // 0: the kind's default
  int nodes = 0;
  LayoutFlags layout;
  EngineFlags engine;
  bool json = false;
};

bool is_cpu(const Options& options) {
  return options.gpu == "cpu" || options.gpu == "CPU";
}

Gpu gpu_of(const Options& options) {
  if (!is_cpu(options)) return find_gpu(options.gpu);
  const int64_t available = available_memory();
  return {"cpu", available, available};
}

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// Only the floor: parameters × bytes over nominal memory.
int fit_size(const Options& options, int64_t parameters) {
  const Gpu gpu = gpu_of(options);
  const std::vector<WeightFloor> floors =
      options.weights.empty()
          ? floor_table(parameters, gpu.nominal_bytes)
          : std::vector{
                weight_floor(parameters, find_weight_format(options.weights), gpu.nominal_bytes)};
  if (options.json) {
    fmt::print("{}\n", size_json(options.model, gpu, floors).dump(2));
  } else {
    fmt::print("{}", size_table(options.model, gpu, floors));
  }
  return 0;
}

Compute compute_of(const Options& options, const ModelSpec& spec) {
  if (options.compute == "bf16") return Compute::bf16;
  if (options.compute == "fp32") return Compute::fp32;
  if (is_cpu(options)) return default_compute();
  return spec.dtype == DType::f32 ? Compute::fp32 : Compute::bf16;
}

std::string kv_format_of(const Options& options, Compute compute) {
  if (options.kv_dtype == "auto") return compute == Compute::fp32 ? "f32" : "bf16";
  return options.kv_dtype;
}

int64_t count_flag(const std::string& text, const char* flag, int64_t most = most_tokens) {
  const int64_t count = parse_count(text, flag);
  if (count > most) throw_bad_input(fmt::format("{} {}: too large", flag, text), "", flag);
  return count;
}

FitQuestion question_of(const Options& options, const ModelSpec& spec, const Gpu& gpu) {
  FitQuestion question;
  question.layout = options.layout.layout;
  question.shape.compute = compute_of(options, spec);
  question.shape.quantize = find_code_format(options.quantize).value_or(CodeFormat::none);
  const std::string kv_format = kv_format_of(options, question.shape.compute);
  question.shape.kv_element_bytes = bytes_in(find_weight_format(kv_format), 1);
  if (!is_cpu(options)) {
    question.shape.windows_apart = true;
    question.shape.max_batch_tokens = gpu_batch_tokens;
    question.shape.overhead = gpu_overhead;
  }
  if (!options.max_batch_tokens.empty()) {
    question.shape.max_batch_tokens =
        count_flag(options.max_batch_tokens, "--max-batch-tokens", most_batch_tokens);
  }
  question.memory_bytes = gpu.usable_bytes;
  question.shared = is_cpu(options);
  question.utilization = options.utilization > 0 ? options.utilization
                         : is_cpu(options)       ? cpu_utilization
                                                 : gpu_utilization;
  question.ranks_per_node = options.layout.ranks_per_node;
  const int world = question.layout.world();
  if (options.nodes > 0 && question.ranks_per_node == 0) {
    question.ranks_per_node = static_cast<int>(ceil_div(world, options.nodes));
  }
  // More ranks than asked for would go to more machines.
  if (question.shared && question.ranks_per_node == 0) question.ranks_per_node = world;
  if (options.nodes > 0 && question.nodes_of(question.layout) > options.nodes) {
    throw_bad_input(
        fmt::format("{} ranks, {} on a machine, need {} machines, not {}", world,
                    question.ranks_per_node, question.nodes_of(question.layout), options.nodes),
        "raise --nodes or --ranks-per-node", "nodes");
  }
  question.sequences = count_flag(options.sequences, "--sequences");
  if (!options.context.empty()) {
    question.context = count_flag(options.context, "--context");
  } else if (question.sequences > 1) {
    question.context = spec.context;
  }
  if (question.context > most_tokens / question.sequences) {
    throw_bad_input("--context times --sequences is too large", "", "sequences");
  }
  ask_for_engine(options.engine, options.utilization,
                 options.max_batch_tokens.empty() ? 0 : question.shape.max_batch_tokens, question);
  return question;
}

// What --quantize makes of the weights, of which the checkpoint knows nothing.
void count_quantized(const MemoryModel& model, FitReport& report) {
  const Arithmetic arithmetic = report.question.shape.arithmetic();
  report.weight_format += fmt::format(" made {}", to_string(arithmetic.quantize));
  report.weight_bytes = 0;
  for (const HeldTensor& each : model.held(Layout{}, 0, arithmetic))
    report.weight_bytes += each.layers * each.experts * each.payload;
  report.min_gpus = ceil_div(report.weight_bytes, report.gpu.nominal_bytes);
}

void check_quantize(const Options& options) {
  if (options.quantize == "none") return;
  if (!options.weights.empty()) {
    throw_bad_input("--quantize and --weights: both say what weights are counted as",
                    "--quantize is what ranks of Dure do while loading", "quantize");
  }
  if (options.engine.engine != "dure") {
    throw_bad_input(fmt::format("--quantize: not with --engine {:.40}", options.engine.engine),
                    "--weights counts weights as that engine's checkpoint stores them", "quantize");
  }
}

int fit_model(const Options& options) {
  check_quantize(options);
  ModelSpec spec = planned_spec(options.model);
  check_layout_flags(options.layout);
  check_layout_for(spec, options.layout.layout);
  const std::optional<WeightFormat> format = retype(spec, options.weights);
  const MemoryModel model(spec, format);
  FitReport report;
  report.model = options.model;
  report.gpu = gpu_of(options);
  report.weight_format = format_text(spec, format);
  report.weight_bytes = model.all_weights();
  report.min_gpus = ceil_div(report.weight_bytes, report.gpu.nominal_bytes);
  report.question = question_of(options, spec, report.gpu);
  if (report.question.shape.quantize != CodeFormat::none) count_quantized(model, report);
  report.kv_format = kv_format_of(options, report.question.shape.compute);
  report.answer = fit(model, report.question);
  report.at_best = at_best_around(model, report.question, report.min_gpus);
  if (report.question.engine) {
    report.printed = engine_capacity(model, *report.question.engine, report.answer.layout);
  }
  report.remarks = fit_remarks(model, report.question, report.answer);
  if (!report.answer.fits) report.nearest = nearest_that_fits(model, report.question);
  if (options.json) {
    fmt::print("{}\n", fit_json(spec, report).dump(2));
  } else {
    fmt::print("{}", fit_table(spec, report));
  }
  return report.answer.fits ? 0 : 1;
}

int run(const Options& options) {
  const std::optional<int64_t> parameters = parameters_if_size(options.model);
  return parameters ? fit_size(options, *parameters) : fit_model(options);
}

RunCommand declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("MODEL", options->model,
                 "a Hugging Face folder, a config.json, a GGUF file, a preset, or a size: 671B")
      ->required();
  app.add_option("--gpu", options->gpu, "h100, b200, …, cpu (this machine) or a size: 80GB")
      ->required();
  add_layout_flags(app, options->layout);
  add_engine_flags(app, options->engine);
  app.add_option("--nodes", options->nodes, "machines")->check(CLI::Range(1, 65536));
  app.add_option("--weights", options->weights, "count the weights as bf16, fp8, fp4, …");
  app.add_option("--context", options->context, "tokens of each sequence that must fit");
  app.add_option("--sequences", options->sequences, "at once")->capture_default_str();
  app.add_option("--utilization", options->utilization, "of usable memory; 0.9, for cpu 1")
      ->check(number_between(0.01, 1.0));
  app.add_option("--max-batch-tokens", options->max_batch_tokens, "of one step");
  app.add_option("--kv-type,--kv-dtype", options->kv_dtype, "of the cache")
      ->check(CLI::IsMember({"auto", "bf16", "f32", "fp32", "fp8"}))
      ->capture_default_str();
  app.add_option("--compute", options->compute, "what products are made of")
      ->check(CLI::IsMember({"auto", "bf16", "fp32"}))
      ->capture_default_str();
  add_quantize_flag(app, options->quantize);
  app.add_flag("--json", options->json, "machine-readable");
  app.footer("Example: dure fit ./Qwen3-235B-A22B --gpu h100 --tp 4 --dp 2 --ep 8");
  return [options] { return run(*options); };
}

const RegisterCommand registered({"fit", "whether a model fits: bytes per rank by kind", declare});

}  // namespace
}  // namespace dure
