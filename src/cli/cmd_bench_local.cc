// dure bench-local MODEL: prefill and decode speed of the engine in a layout, without HTTP, beside
// what the machine itself can do, measured in the same run.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/run_flags.h"
#include "cli/table.h"
#include "group/own_pages.h"
#include "model/inventory.h"
#include "model/load_spec.h"

namespace dure {
namespace {

struct Options {
  RunFlags run;
  int prefill = 512;
  int decode = 32;
  int batch = 1;
  int repeat = 3;
  bool json = false;
};

struct Limits {
  double operations_per_s = 0.0;
  double bytes_per_s = 0.0;
};

struct Round {
  double prefill_s = 0.0;
  double decode_s = 0.0;
  Limits limits;  // measured right after
};

// The limits of all the group's threads together, from dure-rank, which has the kernels.
Limits measure_limits(const Options& options) {
  const int threads = options.run.chosen_threads() * options.run.layout.layout.world();
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "dure-rank";
  const std::string command = fmt::format("'{}' --limits {} {} {}", program.string(), threads,
                                          to_string(options.run.chosen_compute()),
                                          to_string(options.run.chosen_quantize()));
  FILE* pipe = popen(command.c_str(), "re");
  Limits limits;
  const int read =
      pipe == nullptr ? 0
                      : std::fscanf(pipe, "%lf %lf", &limits.operations_per_s, &limits.bytes_per_s);
  if (pipe == nullptr || pclose(pipe) != 0 || read != 2) {
    throw Error(ErrorCode::failed, fmt::format("{} --limits gave no figures", program.string()));
  }
  return limits;
}

class Bench {
 public:
  Bench(const Options& options, const ModelSpec& spec, BlockingGroup& group, OwnPages pages)
      : options_(options), spec_(spec), group_(group), pages_(std::move(pages)) {}

  Round run() {
    using Clock = std::chrono::steady_clock;
    Round round;
    const auto start = Clock::now();
    prefill();
    const auto between = Clock::now();
    for (int i = 0; i < options_.decode; ++i) decode(options_.prefill + i);
    const auto end = Clock::now();
    round.prefill_s = std::chrono::duration<double>(between - start).count();
    round.decode_s = std::chrono::duration<double>(end - between).count();
    round.limits = measure_limits(options_);
    return round;
  }

 private:
  // One sequence at a time, as a step's budget would hold it.
  void prefill() {
    for (int sequence = 0; sequence < options_.batch; ++sequence) {
      Step step = next_step();
      step.slices.push_back(slice(sequence, 0, options_.prefill));
      group_.run(std::move(step));
    }
  }

  void decode(int position) {
    Step step = next_step();
    for (int sequence = 0; sequence < options_.batch; ++sequence) {
      step.slices.push_back(slice(sequence, position, 1));
    }
    group_.run(std::move(step));
  }

  Step next_step() {
    Step step;
    step.id = next_id_++;
    return step;
  }

  Slice slice(int sequence, int start, int tokens) {
    Slice slice;
    slice.sequence = static_cast<uint64_t>(sequence);
    slice.dp = sequence % options_.run.layout.layout.dp;
    slice.start = start;
    slice.state = sequence / options_.run.layout.layout.dp;
    slice.tables = pages_.tables(slice.state, start, int64_t{start} + tokens);
    std::uniform_int_distribution<int32_t> any(0, static_cast<int32_t>(spec_.vocab - 1));
    for (int i = 0; i < tokens; ++i) slice.tokens.push_back(any(random_));
    slice.want = Want::token;
    return slice;
  }

  const Options& options_;
  const ModelSpec& spec_;
  BlockingGroup& group_;
  OwnPages pages_;
  uint64_t next_id_ = 1;
  std::mt19937 random_{1};
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <class Value>
double median_of(const std::vector<Round>& rounds, const Value& value) {
  std::vector<double> values;
  values.reserve(rounds.size());
  for (const Round& round : rounds) values.push_back(value(round));
  return median(values);
}

Json figures(const Options& options, const ModelSpec& spec, const std::vector<Round>& rounds) {
  const double prefill_tokens = double{1} * options.prefill * options.batch;
  const double decode_tokens = double{1} * options.decode * options.batch;
  // A multiply and an add for each weight that a token touches; the embedding is only looked up,
  // and a prefill computes one row of logits.
  const auto head = static_cast<double>(spec.vocab * spec.hidden);
  const double active =
      static_cast<double>(active_parameters(spec)) - head * (spec.tied_embeddings ? 1.0 : 2.0);
  const double prefill_operations = 2.0 * (active * prefill_tokens + head * options.batch);
  const double prefill_rate = median_of(rounds, [&](const Round& r) { return 1.0 / r.prefill_s; });
  const double decode_step =
      median_of(rounds, [&](const Round& r) { return r.decode_s / std::max(1, options.decode); });
  // Bytes of one decode step with one sequence: every active weight once, codes with their scales.
  const CodeFormat codes = options.run.chosen_quantize();
  const double bits = codes == CodeFormat::none
                          ? static_cast<double>(8 * bytes_of(DType::bf16))
                          : static_cast<double>(code_bits(codes)) + 16.0 / code_group;
  const double step_bytes = (active + head) * bits / 8;
  const double operations_limit =
      median_of(rounds, [](const Round& r) { return r.limits.operations_per_s; });
  const double bytes_limit = median_of(rounds, [](const Round& r) { return r.limits.bytes_per_s; });
  Json json = {{"prefill_tokens_per_s", prefill_tokens * prefill_rate},
               {"decode_tokens_per_s", decode_tokens > 0 ? options.batch / decode_step : 0.0},
               {"decode_step_s", decode_step},
               {"prefill_operations_per_s", prefill_operations * prefill_rate},
               {"peak_operations_per_s", operations_limit},
               {"prefill_share_of_peak", prefill_operations * prefill_rate / operations_limit},
               {"peak_bytes_per_s", bytes_limit}};
  // With more sequences a mixture reads an unknown number of experts: the ratio is only stated for
  // one.
  if (options.batch == 1 && options.decode > 0) {
    json["decode_bytes_per_s"] = step_bytes / decode_step;
    json["decode_share_of_peak"] = step_bytes / decode_step / bytes_limit;
  }
  return json;
}

void print(const Json& json, const Options& options) {
  const auto giga = [&](const char* key) {
    return fmt::format("{:.1f}", json.at(key).get<double>() * 1e-9);
  };
  const auto share = [&](const char* key) {
    return fmt::format("{:.0f}%", json.at(key).get<double>() * 100.0);
  };
  Table table({{""}, {"tokens/s", Table::Align::right}, {"of the machine's limit"}});
  table.add({fmt::format("prefill {} × {}", options.batch, options.prefill),
             fmt::format("{:.1f}", json.at("prefill_tokens_per_s").get<double>()),
             fmt::format("{} of {} Gop/s ({})", giga("prefill_operations_per_s"),
                         giga("peak_operations_per_s"), share("prefill_share_of_peak"))});
  const bool bytes = json.contains("decode_bytes_per_s");
  table.add({fmt::format("decode, batch {}", options.batch),
             fmt::format("{:.1f}", json.at("decode_tokens_per_s").get<double>()),
             bytes ? fmt::format("{} of {} GB/s ({})", giga("decode_bytes_per_s"),
                                 giga("peak_bytes_per_s"), share("decode_share_of_peak"))
                   : std::string()});
  fmt::print("{}, {} threads each, {} compute, quantize {}, median of {}\n{}",
             to_string(options.run.layout.layout), options.run.chosen_threads(),
             to_string(options.run.chosen_compute()), options.run.quantize, options.repeat,
             table.text());
}

int run(const Options& options) {
  check_run_flags(options.run);
  const ModelSpec spec = load_spec(options.run.model);
  const int64_t positions = int64_t{options.prefill} + options.decode;
  if (positions > spec.context) {
    throw_bad_input(fmt::format("--prefill {} and --decode {} leave the model's context of {}",
                                options.prefill, options.decode, spec.context));
  }
  GroupOptions group_options = options.run.group_options();
  StartGroup& start = group_options.start;
  const int dp = start.layout.dp;
  const OwnPages pages(spec, positions, start.page_tokens);
  const int sequences_each = (options.batch + dp - 1) / dp;
  start.pages = static_cast<int32_t>(sequences_each * pages.of_a_sequence());
  start.states = sequences_each;
  start.context = static_cast<int32_t>(positions);
  start.max_batch_tokens = std::max(options.prefill, sequences_each);
  const std::unique_ptr<BlockingGroup> group = start_ranks(group_options);
  Bench bench(options, spec, *group, pages);
  bench.run();  // warms up
  std::vector<Round> rounds;
  rounds.reserve(static_cast<size_t>(options.repeat));
  for (int i = 0; i < options.repeat; ++i) rounds.push_back(bench.run());
  const Json json = figures(options, spec, rounds);
  if (options.json) {
    fmt::print("{}\n", json.dump(2));
  } else {
    print(json, options);
  }
  return 0;
}

RunCommand declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_run_flags(app, options->run);
  app.add_option("--prefill", options->prefill, "prompt tokens of each sequence")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--decode", options->decode, "tokens generated after it")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  app.add_option("--batch", options->batch, "sequences")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--repeat", options->repeat)->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_flag("--json", options->json);
  app.footer("Example: dure bench-local models/demo-moe --tp 2 --batch 16");
  return [options] { return run(*options); };
}

const RegisterCommand registered({"bench-local", "speed of the engine without HTTP", declare});

}  // namespace
}  // namespace dure
