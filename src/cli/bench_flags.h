// What `dure bench` is told on its command line, as the load that it means.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/json.h"
#include "load/summary.h"
#include "load/workload.h"

namespace CLI {
class App;
}

namespace dure {

struct BenchFlags {
  std::string url;
  std::string endpoint = "completions";
  std::string model;
  int concurrency = 0;
  std::string rate;
  std::string trace;
  double speed = 1.0;
  int64_t requests = 0;  // 0: not given
  std::string duration;
  std::string input = "128";
  std::string output = "64";
  std::string shared_prefix;
  std::string prompts;
  std::string background;
  double cancel_fraction = 0.0;
  int64_t warm_up = 0;
  bool ignore_eos = false;
  std::optional<double> temperature;
  std::string extra;
  uint64_t seed = 1;
  std::string goodput;
  std::string ttft;
  std::string tpot;
  std::string timeout = "5min";
  bool json = false;
  std::string csv;
  std::string save;

  bool is_chat() const { return endpoint == "chat"; }
};

void add_bench_flags(CLI::App& app, BenchFlags& flags);

// Each throws bad_input for what cannot be meant. The first reads the files that the flags name.
load::WorkloadSpec bench_workload(const BenchFlags& flags);
std::optional<load::WorkloadSpec> bench_background(const BenchFlags& flags);
load::Goal bench_goal(const BenchFlags& flags);
// What every request holds beside its prompt and max_tokens.
Json bench_members(const BenchFlags& flags, const std::string& model);

}  // namespace dure
