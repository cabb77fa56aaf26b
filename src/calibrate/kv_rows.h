// What engines printed about memory at start, row by row, against what the planner says: the bars
// of the planner's memory are held here.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/config_finder.h"
#include "cluster/layout.h"

namespace dure {

struct KvRow {
  size_t line = 0;  // of the file
  std::string engine;
  std::string version;  // may be empty
  std::string model;
  std::string gpu;
  Layout layout;
  std::string dtype;     // of the weights
  std::string kv_dtype;  // of the cache
  std::optional<double> utilization;
  std::optional<int64_t> max_len;     // tokens
  std::optional<double> weights_gib;  // of one GPU
  std::optional<double> pool_gib;     // below zero: what was missing
  std::optional<int64_t> tokens;      // that the cache holds
  std::string source;
};

// Throws bad_input naming line and column: sizes below 1, a utilization outside 0 to 1, no model.
std::vector<KvRow> read_kv_rows(const std::filesystem::path& file);

enum class KvClass { dense, latent, mixture, windowed, hybrid };
std::string to_string(KvClass kind);
double kv_bar(KvClass kind);  // greatest error of a row that passes, 0.02 = 2%

struct KvResult {
  KvRow row;
  std::string problem;  // why nothing could be said; empty: something was
  KvClass kind = KvClass::dense;
  std::string overheads;  // which engine and version's were used
  double weights_gib = 0.0;
  double pool_gib = 0.0;
  int64_t tokens = 0;
  // Relative: of the tokens, or where the row has none, of the pool. Where both say that nothing
  // fits: 0.
  std::optional<double> error;
  bool passed() const { return error && std::abs(*error) <= kv_bar(kind); }
};

KvResult predict_kv_row(const KvRow& row, const ConfigFinder& configs);

// A line for each row, then mean, median and bias for each engine and class, and the bars.
std::string kv_report(const std::vector<KvResult>& results);

}  // namespace dure
