// dure verify MODEL: the recorded prompts of a model through any layout, compared number by number.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/command.h"
#include "cli/number_range.h"
#include "cli/progress.h"
#include "cli/run_flags.h"
#include "cli/table.h"
#include "verify/verify.h"

namespace dure {
namespace {

struct Options {
  RunFlags run;
  std::filesystem::path expected;
  int batch = 1;
  int chunk = 0;
  double tolerance = 0.0;
  bool json = false;
};

Json to_json(const VerifyResult& result) {
  Json prompts = Json::array();
  int64_t steps = 0;
  int64_t matched = 0;
  int64_t routes = 0;
  int64_t agreed = 0;
  for (const PromptCheck& prompt : result.prompts) {
    prompts.push_back({{"prompt", prompt.name},
                       {"tokens", prompt.tokens},
                       {"max_abs_logit_error", prompt.max_abs_logit_error},
                       {"mean_abs_logit_error", prompt.mean_abs_logit_error},
                       {"positions_compared", prompt.positions_compared},
                       {"greedy_match", prompt.greedy_matched},
                       {"greedy_steps", prompt.greedy_steps},
                       {"routes", prompt.routes},
                       {"routes_agreed", prompt.routes_agreed},
                       {"routes_wrong", prompt.routes_wrong},
                       {"passed", prompt.passed}});
    steps += prompt.greedy_steps;
    matched += prompt.greedy_matched;
    routes += prompt.routes;
    agreed += prompt.routes_agreed;
  }
  return {{"passed", result.passed},
          {"max_abs_logit_error", result.max_abs_logit_error},
          {"tolerance", result.tolerance.logit},
          {"amplification", result.amplification},
          {"greedy_match", matched},
          {"greedy_steps", steps},
          {"router_agreement",
           routes > 0 ? static_cast<double>(agreed) / static_cast<double>(routes) : 1.0},
          {"logits_hash", result.logits_hash},
          {"dropped_slots", result.stats.dropped_slots},
          {"moved_slots", result.stats.moved_slots},
          {"prompts", prompts}};
}

void print(const VerifyResult& result, const Options& options) {
  constexpr auto right = Table::Align::right;
  Table table({{"prompt"},
               {"tokens", right},
               {"max logit error", right},
               {"mean", right},
               {"positions", right},
               {"greedy", right},
               {"routes", right},
               {""}});
  for (const PromptCheck& prompt : result.prompts) {
    table.add({prompt.name, fmt::format("{}", prompt.tokens),
               fmt::format("{:.2e}", prompt.max_abs_logit_error),
               fmt::format("{:.2e}", prompt.mean_abs_logit_error),
               fmt::format("{}", prompt.positions_compared),
               fmt::format("{}/{}", prompt.greedy_matched, prompt.greedy_steps),
               fmt::format("{}/{}", prompt.routes_agreed, prompt.routes),
               prompt.passed ? "ok" : "MISMATCH"});
  }
  fmt::print("{}, {} compute, {}\n{}", to_string(options.run.layout.layout),
             to_string(options.run.chosen_compute()), result.group.ranks.at(0).isa, table.text());
  int64_t positions = 0;
  int64_t compared = 0;
  for (const PromptCheck& prompt : result.prompts) {
    positions += prompt.tokens;
    compared += prompt.positions_compared;
  }
  if (compared < positions) {
    fmt::print(
        "{} of {} positions compared: from the first route within its margin that went another "
        "way, answers may rightly differ; --compute fp32 compares more\n",
        compared, positions);
  }
  if (options.run.expert_capacity > 0.0) {
    fmt::print("{} token slots found their expert full and were dropped, {} went to another\n",
               result.stats.dropped_slots, result.stats.moved_slots);
  }
  if (result.amplification > 1.0) {
    fmt::print("this model amplifies roundings {:.1f} times more than assumed (measured in fp32)\n",
               result.amplification);
  }
  fmt::print("tolerance {:.3g}   logits_hash {}   {}\n", result.tolerance.logit, result.logits_hash,
             result.passed ? "the model answers as recorded" : "MISMATCH");
}

int run(const Options& options) {
  check_run_flags(options.run);
  VerifyOptions verify_options;
  verify_options.group = options.run.group_options();
  verify_options.expected = options.expected;
  verify_options.batch = options.batch;
  verify_options.chunk = options.chunk;
  verify_options.tolerance = options.tolerance;
  Progress progress("loading");
  const VerifyResult result = verify(verify_options, [&](const LoadProgress& loaded) {
    progress.show(loaded.bytes_done, loaded.bytes_total);
  });
  if (options.json) {
    fmt::print("{}\n", to_json(result).dump(2));
  } else {
    print(result, options);
  }
  return result.passed ? 0 : 1;
}

RunCommand declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_run_flags(app, options->run);
  app.add_option("--expected", options->expected,
                 "recorded outputs; default: expected.safetensors beside the model");
  app.add_option("--batch", options->batch, "sequences in each prefill step")
      ->check(CLI::Range(1, 512));
  app.add_option("--chunk", options->chunk, "prompt tokens of a step; 0: the whole prompt")
      ->check(CLI::Range(0, 1 << 20));
  app.add_option("--tolerance", options->tolerance, "of a logit, instead of the derived one")
      ->check(number_between(0.0, 1e30));
  app.add_flag("--json", options->json);
  app.footer("Example: dure verify models/demo-moe --tp 2 --ep 2 --compute fp32");
  return [options] { return run(*options); };
}

const RegisterCommand registered({"verify", "compare a model's answers with recorded ones",
                                  declare});

}  // namespace
}  // namespace dure
