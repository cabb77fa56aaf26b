// Recorded traffic: when requests came, how long they and their answers were, and which blocks of
// their prompts they shared.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace dure::load {

struct TraceRow {
  double at_s = 0.0;   // seconds since the first request
  int64_t input = 0;   // tokens
  int64_t output = 0;  // tokens
  // One per block of `Trace::block_tokens`, the last of which may be shorter; prompts that agree in
  // their first ids agree in those blocks. Empty where the trace has none.
  std::vector<uint64_t> blocks;
};

struct Trace {
  std::vector<TraceRow> rows;  // by time
  int64_t block_tokens = 0;    // 0: without blocks
};

// Two forms, told apart by their first character:
// - lines of JSON as Mooncake's traces: timestamp (milliseconds), input_length, output_length, and
//   hash_ids, where the block's size is the one that fits every row (512 where several do);
// - comma-separated values as Splitwise's: arrived_at (seconds), num_prefill_tokens,
//   num_decode_tokens.
// Throws bad_input naming `what` (a file) and the line for anything else, and for a trace without
// rows.
Trace parse_trace(std::string_view text, std::string_view what);

Trace read_trace(const std::filesystem::path& path, size_t max_bytes = size_t{1} << 30);

}  // namespace dure::load
