// Everything `dure serve` decides and checks before it starts a process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/run_flags.h"
#include "cost/memory.h"
#include "server/api.h"
#include "server/engine_loop.h"
#include "server/http_server.h"
#include "server/served_model.h"
#include "trace/trace_file.h"

namespace dure {

struct ServeFlags {
  RunFlags run;
  std::string host = "127.0.0.1";
  int port = 8000;
  int64_t context = 0;    // tokens; 0: what the model's config promises
  std::string kv_memory;  // of all ranks together; empty: chosen
  int page_tokens = 16;
  bool no_prefix_cache = false;
  int max_batch_tokens = 512;
  double step_stretch = ScheduleOptions().stretch;
  int max_sequences = 256;  // of each dp group, at once
  int max_requests = 1024;  // running and waiting
  double deadline_s = 30.0;
  double drain_timeout_s = 30.0;
  std::string tool_parser;  // empty: as the chat template shows
  std::string reasoning_parser;
  std::filesystem::path api_key_file;
  std::vector<std::string> served_names;
  int max_connections = 4096;
  std::string max_body = "8MiB";
  double idle_timeout_s = 75.0;
  std::vector<std::string> cors_origins;
  bool log_requests = false;
  std::string log_format = "text";      // or json
  std::filesystem::path trace;          // empty: none
  std::string trace_size = "1GiB";      // of that file
  std::string expert_metrics = "auto";  // each expert's, or ranks' only
};

struct ServeSetup {
  ModelSpec spec;
  std::vector<RankMemory> memory;  // [world], as planned
  int64_t cached_tokens = 0;       // of each dp group's cache, in sequences of the context
  bool same_bits = true;
  std::string growth;  // growth_note
  ServedModel model;
  GroupOptions group;
  EngineOptions engine;
  ApiOptions api;
  HttpOptions http;
  TraceOptions trace;
};

// Throws bad_input for wrong flags, checkpoints, tokenizers or templates, answer_is_no where memory
// is short.
ServeSetup prepare(const ServeFlags& flags);

}  // namespace dure
