// golden_models DIR [layout flags] [--compute fp32|bf16] [--only PATTERN]: every case folder under
// DIR (one with an expected.safetensors) through the code of `dure verify`. One line a case, and at
// the end `N passed, N failed`.
#include <fmt/format.h>
#include <fnmatch.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "cluster/this_machine.h"
#include "cost/shard.h"
#include "model/load_spec.h"
#include "verify/verify.h"

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> case_folders(const fs::path& root, const std::vector<std::string>& only) {
  std::vector<fs::path> cases;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().filename() != "expected.safetensors") continue;
    const fs::path folder = entry.path().parent_path();
    const std::string name = fs::relative(folder, root).string();
    const auto matches = [&name](const std::string& pattern) {
      return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
    };
    if (only.empty() || std::any_of(only.begin(), only.end(), matches)) cases.push_back(folder);
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

// True if the case passed.
bool run_case(const fs::path& folder, const std::string& name, dure::VerifyOptions options) {
  options.group.start.model = folder.string();
  try {
    const dure::ModelSpec spec = dure::load_spec(folder);
    dure::check_layout(options.group.start.layout);
    dure::check_layout_for(spec, options.group.start.layout);
    const dure::VerifyResult result = dure::verify(options);
    int64_t steps = 0;
    int64_t matched = 0;
    int64_t wrong = 0;
    for (const dure::PromptCheck& prompt : result.prompts) {
      steps += prompt.greedy_steps;
      matched += prompt.greedy_matched;
      wrong += prompt.routes_wrong;
    }
    fmt::print(
        "{} {}: max_abs_logit_error {:.3g} (tolerance {:.3g}), greedy {}/{}, routes wrong {}, "
        "logits_hash {}\n",
        result.passed ? "passed" : "FAILED", name, result.max_abs_logit_error,
        result.tolerance.logit, matched, steps, wrong, result.logits_hash);
    std::fflush(stdout);
    return result.passed;
  } catch (const dure::Error& error) {
    fmt::print("FAILED {}: {}\n", name, error.message());
    std::fflush(stdout);
    return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs recorded model cases through dure verify's code.");
  fs::path root;
  std::vector<std::string> only;
  std::string compute = std::string(dure::to_string(dure::default_compute()));
  dure::VerifyOptions options;
  app.add_option("DIR", root, "folder with case folders")->required();
  app.add_option("--tp", options.group.start.layout.tp);
  app.add_option("--pp", options.group.start.layout.pp);
  app.add_option("--dp", options.group.start.layout.dp);
  app.add_option("--ep", options.group.start.layout.ep);
  app.add_option("--compute", compute)->check(CLI::IsMember({"fp32", "bf16"}));
  app.add_option("--batch", options.batch, "sequences in each prefill step");
  app.add_option("--chunk", options.chunk, "prompt tokens of a step, 0 for all");
  app.add_option("--only", only, "case names, with * and ?; several with commas")->delimiter(',');
  CLI11_PARSE(app, argc, argv);
  dure::StartGroup& start = options.group.start;
  start.compute = compute == "fp32" ? dure::Compute::fp32 : dure::Compute::bf16;
  start.kv_dtype = compute == "fp32" ? dure::DType::f32 : dure::DType::bf16;
  start.threads = dure::default_threads(start.layout.world());
  int passed = 0;
  int failed = 0;
  try {
    for (const fs::path& folder : case_folders(root, only)) {
      const std::string name = fs::relative(folder, root).string();
      ++(run_case(folder, name, options) ? passed : failed);
    }
  } catch (const fs::filesystem_error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  }
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
