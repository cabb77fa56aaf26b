// planner_accuracy --kv FILE.csv [--configs DIR]: the planner against what others measured. One
// line a row, tables of errors, and at the end `N passed, N failed`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "calibrate/config_finder.h"
#include "calibrate/kv_rows.h"

namespace {

namespace fs = std::filesystem;

struct Tally {
  int passed = 0;
  int failed = 0;
};

// What ships first, then what the caller adds, then the full set beside the project.
dure::ConfigFinder find_configs(const fs::path& added) {
  const fs::path source = DURE_SOURCE_DIR;
  std::vector<fs::path> folders = {source / "testdata/configs/released",
                                   source / "testdata/configs/measured"};
  if (!added.empty()) folders.push_back(added);
  folders.push_back(source / "../shared/data/model-configs");
  return dure::ConfigFinder(folders);
}

void check_kv(const fs::path& file, const dure::ConfigFinder& configs, Tally& tally) {
  std::vector<dure::KvResult> results;
  for (const dure::KvRow& row : dure::read_kv_rows(file)) {
    results.push_back(dure::predict_kv_row(row, configs));
    ++(results.back().passed() ? tally.passed : tally.failed);
  }
  fmt::print("{}", dure::kv_report(results));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Holds the planner against measured rows.");
  std::string kv;
  std::string configs;
  app.add_option("--kv", kv, "CSV of what engines printed about memory at start");
  app.add_option("--configs", configs, "folder with more config.json files, ORG--MODEL.json");
  CLI11_PARSE(app, argc, argv);
  try {
    if (kv.empty()) dure::throw_bad_input("no rows to check", "give --kv FILE.csv");
    if (!configs.empty() && !fs::is_directory(configs)) {
      dure::throw_bad_input(fmt::format("--configs {}: not a folder", configs));
    }
    Tally tally;
    const dure::ConfigFinder finder = find_configs(configs);
    if (!kv.empty()) check_kv(kv, finder, tally);
    fmt::print("{} passed, {} failed\n", tally.passed, tally.failed);
    return tally.failed == 0 && tally.passed > 0 ? 0 : 1;
  } catch (const dure::Error& error) {
    fmt::print(stderr, "error: {}\n", error.message());
    if (!error.hint().empty()) fmt::print(stderr, "hint: {}\n", error.hint());
    return 2;
  }
}
