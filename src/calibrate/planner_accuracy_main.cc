// planner_accuracy --serving FILE.csv --kv FILE.csv: the planner against what others measured.
// Tables of errors, the bars it is held to, and at the end `N passed, N failed`.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "calibrate/config_finder.h"
#include "calibrate/kv_rows.h"
#include "calibrate/serving_report.h"
#include "calibrate/serving_rows.h"

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

// "serving_measurements.csv" has "serving_annotations.csv" beside it; any other name, the only file
// beside it whose name speaks of annotations.
std::optional<fs::path> annotations_beside(const fs::path& file) {
  std::vector<fs::path> found;
  std::error_code absent;
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  for (const auto& entry : fs::directory_iterator(folder, absent)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() == ".csv" && name.find("annotations") != std::string::npos) {
      found.push_back(entry.path());
    }
  }
  std::string name = file.filename().string();
  if (const size_t at = name.find("measurements"); at != std::string::npos) {
    const fs::path beside = folder / name.replace(at, 12, "annotations");
    if (std::find(found.begin(), found.end(), beside) != found.end()) return beside;
  }
  return found.size() == 1 ? std::optional<fs::path>(found.front()) : std::nullopt;
}

struct ServingFlags {
  std::string file;
  std::string annotations;
  std::string write;
  bool no_refit = false;
  bool rows = false;
};

void check_serving_file(const ServingFlags& flags, const dure::ConfigFinder& configs,
                        Tally& tally) {
  const std::optional<fs::path> notes = flags.annotations.empty()
                                            ? annotations_beside(flags.file)
                                            : std::optional<fs::path>(flags.annotations);
  const std::vector<dure::ServingRow> rows = dure::read_serving_rows(flags.file, notes);
  fmt::print("{}: {}\n", flags.file,
             notes ? "annotated by " + notes->string()
                   : std::string("no annotations, so every row is taken as it stands"));
  const dure::ServingCheck check =
      dure::check_serving(rows, configs, {!flags.no_refit, flags.rows, isatty(2) == 1});
  fmt::print("{}", check.text);
  tally.passed += check.passed;
  tally.failed += check.failed;
  if (flags.write.empty()) return;
  if (check.constants.empty()) dure::throw_bad_input("--write: nothing was fitted");
  std::ofstream(flags.write) << check.constants;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Holds the planner against measured rows.");
  std::string kv;
  std::string configs;
  ServingFlags serving;
  app.add_option("--serving", serving.file, "CSV of measured serving runs");
  app.add_option("--annotations", serving.annotations,
                 "CSV about the same ids (default: the one beside it)");
  app.add_flag("--no-refit", serving.no_refit,
               "only the constants that ship; no fits without each model and system");
  app.add_flag("--rows", serving.rows, "a line for each serving run");
  app.add_option("--write", serving.write, "write the fitted constants as a header");
  app.add_option("--kv", kv, "CSV of what engines printed about memory at start");
  app.add_option("--configs", configs, "folder with more config.json files, ORG--MODEL.json");
  CLI11_PARSE(app, argc, argv);
  try {
    if (kv.empty() && serving.file.empty()) {
      dure::throw_bad_input("no rows to check", "give --serving FILE.csv or --kv FILE.csv");
    }
    if (!configs.empty() && !fs::is_directory(configs)) {
      dure::throw_bad_input(fmt::format("--configs {}: not a folder", configs));
    }
    Tally tally;
    const dure::ConfigFinder finder = find_configs(configs);
    if (!serving.file.empty()) check_serving_file(serving, finder, tally);
    if (!kv.empty()) check_kv(kv, finder, tally);
    fmt::print("{} passed, {} failed\n", tally.passed, tally.failed);
    return tally.failed == 0 && tally.passed > 0 ? 0 : 1;
  } catch (const dure::Error& error) {
    fmt::print(stderr, "error: {}\n", error.message());
    if (!error.hint().empty()) fmt::print(stderr, "hint: {}\n", error.hint());
    return 2;
  }
}
