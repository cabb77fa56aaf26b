// Flags of every subcommand that starts ranks on this machine: the model, its layout, how it
// computes.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "cli/layout_flags.h"
#include "group/group.h"
#include "model/spec.h"
#include "tensor/code_format.h"
#include "tensor/dtype.h"

namespace CLI {
class App;
}

namespace dure {

struct RunFlags {
  std::filesystem::path model;
  LayoutFlags layout;
  std::string compute = "auto";
  std::string quantize = "none";
  std::string kv_type = "auto";
  int threads = 0;  // of each rank; 0: the machine's cores shared out
  std::string hosts_file;
  double expert_capacity = 0.0;  // 0: no bound
  std::string expert_overflow = "drop";

  Compute chosen_compute() const;
  CodeFormat chosen_quantize() const;
  DType chosen_kv_type() const;
  int chosen_threads() const;
  // The options of a group for this model; the caller adds pages and batch size.
  GroupOptions group_options() const;
};

// `flags` must outlive the parse.
void add_run_flags(CLI::App& app, RunFlags& flags);

// --quantize, by the names of tensor/code_format.h.
void add_quantize_flag(CLI::App& app, std::string& format);

// Throws bad_input for a bound on experts where the model has none.
void check_expert_capacity(const RunFlags& flags, const ModelSpec& spec);

// Starts the ranks and waits until they are ready, with a bar while they load.
std::unique_ptr<BlockingGroup> start_ranks(const GroupOptions& options);

// Layout, checkpoint and memory, all checked before any process starts.
void check_run_flags(const RunFlags& flags);

}  // namespace dure
