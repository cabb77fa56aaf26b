// Measured runs of serving engines, row by row: what ran on what under which load, and what users
// saw. Rows that their annotations call unfit are kept and marked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cluster/layout.h"
#include "cost/engine_profile.h"

namespace dure {

// Workers of one of two pools.
struct PoolRow {
  int workers = 1;
  Layout layout;
};

struct ServingRow {
  std::string id;
  std::string model;
  std::string system;  // "h200_sxm"
  Engine engine = Engine::vllm;
  std::string version;         // may be empty
  std::string weights;         // as the file names it: nvfp4, fp8, fp8_block; empty: bf16
  std::string experts;         // the same, of a mixture's experts
  std::string day;             // measured on; may be empty
  bool varied_lengths = true;  // uniform between 80% and 100%; otherwise all alike
  bool clean = true;
  std::string flags;               // why not
  std::string same_run;            // runs that are one run under several ids; may be empty
  Layout layout;                   // of one replica
  int64_t input = 0;               // tokens
  int64_t output = 0;              // tokens
  int64_t concurrency = 1;         // of one dp rank
  int64_t in_all = 1;              // requests in flight, as the generator was asked for
  std::optional<PoolRow> prefill;  // where prompts have workers of their own
  std::optional<PoolRow> decode;
  std::string problem;  // why nothing can be predicted; empty: something can
  double ttft = 0.0;    // seconds
  double tpot = 0.0;
};

// `annotations`: a file with the same ids, whose layouts are the true ones; where there is none,
// layouts are derived from the row, and every row counts as clean. Throws bad_input naming line and
// column.
std::vector<ServingRow> read_serving_rows(const std::filesystem::path& file,
                                          const std::optional<std::filesystem::path>& annotations);

}  // namespace dure
