// dure plan MODEL --gpu GPU --gpus N: which layout, how fast, for how many users, and why not the
// others.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text_file.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/model_argument.h"
#include "cli/number_range.h"
#include "cli/plan_json.h"
#include "cli/plan_report.h"
#include "cli/terminal.h"
#include "cost/retype.h"
#include "plan/html_page.h"
#include "plan/own_runs.h"
#include "plan/plan.h"
#include "plan/search.h"

namespace dure {
namespace {

constexpr int usual_node = 8;  // GPUs, where no links join them
constexpr int most_columns = 110;

struct Options {
  std::string model;
  std::string gpu;
  int gpus = 0;
  int gpus_per_node = 0;  // 0: those that its links join
  double nic = 50.0;      // GB/s
  EngineFlags engine{"vllm", ""};
  std::string weights;
  std::string kv_type = "bf16";
  std::string input = "1024";
  std::string output = "512";
  std::string concurrency;
  double rate = 0.0;  // 0: not given
  std::string ttft;
  std::string tpot;
  std::string objective = "throughput";
  double utilization = 0.0;  // 0: the engine's own
  std::string calibrate;
  int top = 5;
  bool disaggregate = false;
  bool json = false;
  std::string html;  // a file; empty: none
};

Gpu gpu_of(const std::string& name) {
  if (name.find(',') != std::string::npos) {
    throw_bad_input(
        fmt::format("--gpu {:.60}: two kinds of GPU in one group are not planned", name),
        "plan each kind by itself and route between them: in one group every step "
        "waits for its slowest rank",
        "gpu");
  }
  if (name == "cpu" || name == "CPU") {
    throw_bad_input("--gpu cpu: steps of CPUs are measured, not planned",
                    "`dure bench-local` measures this machine, `dure fit --gpu cpu` its memory",
                    "gpu");
  }
  return find_gpu(name);
}

std::vector<KvFormat> kv_formats_of(const std::string& type) {
  const KvFormat bf16{"bf16", 2};
  const KvFormat fp8{"fp8", 1};
  if (type == "any") return {bf16, fp8};
  return {type == "fp8" ? fp8 : bf16};
}

Objective objective_of(const std::string& name) {
  if (name == "latency") return Objective::latency;
  return name == "cost" ? Objective::cost : Objective::throughput;
}

PlanQuestion question_of(const Options& options, ModelSpec& spec) {
  PlanQuestion question;
  question.model = options.model;
  question.gpu = gpu_of(options.gpu);
  question.gpus = options.gpus;
  question.gpus_per_node = options.gpus_per_node;
  if (question.gpus_per_node == 0) {
    const int joined = question.gpu.speed ? question.gpu.speed->domain : 1;
    question.gpus_per_node = joined > 1 ? joined : usual_node;
  }
  question.nic = options.nic * 1e9;
  question.engine = find_engine(options.engine.engine);
  question.engine_version = options.engine.version;
  question.weights = retype(spec, options.weights);
  question.weights_asked = options.weights;
  question.kv_formats = kv_formats_of(options.kv_type);
  question.utilization = options.utilization;
  question.input = parse_count(options.input, "--input");
  question.output = parse_count(options.output, "--output");
  if (!options.concurrency.empty()) {
    question.concurrency = parse_count(options.concurrency, "--concurrency");
  }
  question.rate = options.rate;
  if (!options.ttft.empty()) question.ttft_limit = parse_seconds(options.ttft, "--ttft");
  if (!options.tpot.empty()) question.tpot_limit = parse_seconds(options.tpot, "--tpot");
  question.objective = objective_of(options.objective);
  question.disaggregate = options.disaggregate;
  question.top = options.top;
  return question;
}

// Where it takes more than a moment, and somebody looks.
PlanProgress progress_on_a_terminal() {
  if (!is_terminal(stderr)) return {};
  const auto start = std::chrono::steady_clock::now();
  auto shown = std::make_shared<std::chrono::steady_clock::time_point>(start);
  return [start, shown](int64_t done, int64_t all) {
    using namespace std::chrono_literals;
    const auto now = std::chrono::steady_clock::now();
    if (now - start < 1s || now - *shown < 100ms) return;
    *shown = now;
    say(stderr, fmt::format("\rlayout {} of {}\033[K\r", done, all));
  };
}

int run(const Options& options) {
  if (parameters_if_size(options.model)) {
    throw_bad_input(fmt::format("{}: a size alone cannot be split over GPUs", options.model),
                    "give a config.json or a preset; `dure fit` counts what a size needs at least",
                    "MODEL");
  }
  ModelSpec spec = planned_spec(options.model);
  PlanQuestion question = question_of(options, spec);
  if (!options.calibrate.empty()) {
    const Calibration calibration =
        calibrate(PlanModel(spec, question), question, read_own_runs(options.calibrate));
    question.measured = calibration.profile;
    question.measured_says = calibration.says;
  }
  const PlanAnswer answer = plan(spec, question, progress_on_a_terminal());
  if (!options.html.empty()) {
    write_text_file(options.html, plan_page(spec, question, answer), "--html");
  }
  if (options.json) {
    say(stdout, plan_json(question, answer).dump(2) + '\n');
  } else {
    const int columns = is_terminal(stdout) ? terminal_columns(stdout) : most_columns;
    say(stdout, plan_text(question, answer, std::min(columns, most_columns)));
  }
  return answer.met ? 0 : 1;
}

RunCommand declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("MODEL", options->model,
                 "a Hugging Face folder, a config.json, a GGUF file or a preset (deepseek-v3)")
      ->required();
  app.add_option("--gpu", options->gpu, "h100, h200, b200, …")->required();
  app.add_option("--gpus", options->gpus, "how many")->required()->check(CLI::Range(1, 16384));
  app.add_option("--gpus-per-node", options->gpus_per_node, "of one machine; as the GPU's links")
      ->check(CLI::Range(1, 16384));
  app.add_option("--nic", options->nic, "GB/s of each GPU to other nodes, each way")
      ->check(number_between(0.001, 10000))
      ->capture_default_str();
  app.add_option("--input", options->input, "tokens of a prompt, on average")
      ->capture_default_str();
  app.add_option("--output", options->output, "tokens of an answer")->capture_default_str();
  app.add_option("--concurrency", options->concurrency, "requests in flight, on all GPUs");
  app.add_option("--rate", options->rate, "requests per second in place of --concurrency")
      ->check(number_between(1e-6, 1e6));
  app.add_option("--ttft", options->ttft, "limit of the time to the first token: 2s");
  app.add_option("--tpot", options->tpot, "limit of the time for each further one: 30ms");
  app.add_option("--objective", options->objective, "what is best")
      ->check(CLI::IsMember({"throughput", "latency", "cost"}))
      ->capture_default_str();
  add_engine_flags(app, options->engine);
  app.add_option("--weights", options->weights, "count the weights as bf16, fp8, fp4, …");
  app.add_option("--kv-type", options->kv_type, "of the cache")
      ->check(CLI::IsMember({"bf16", "fp8", "any"}))
      ->capture_default_str();
  app.add_option("--utilization", options->utilization, "of usable memory; the engine's own")
      ->check(number_between(0.01, 1.0));
  app.add_flag("--disaggregate", options->disaggregate, "plan pools that prefill and decode, too");
  app.add_option("--calibrate", options->calibrate,
                 "CSV of your own runs to fit the step's constants to; see docs/planning.md");
  app.add_option("--top", options->top, "layouts shown")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_flag("--json", options->json, "machine-readable");
  app.add_option("--html", options->html, "FILE: write a page to look at, too");
  app.footer("Example: dure plan deepseek-v3 --gpu h200 --gpus 16 --concurrency 256");
  return [options] { return run(*options); };
}

const RegisterCommand registered({"plan", "which layout, how fast, for how many users", declare});

}  // namespace
}  // namespace dure
