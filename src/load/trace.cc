// See trace.h. Sources of the forms: the traces of https://github.com/kvcache-ai/Mooncake and
// https://github.com/Azure/AzurePublicDataset in the form that Splitwise's simulator reads.
#include "load/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/csv.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text_file.h"
#include "load/lengths.h"
#include "load/lines.h"

namespace dure::load {
namespace {

constexpr double longest_trace_s = 1e9;
constexpr int64_t usual_block = 512;
constexpr int64_t largest_block = int64_t{1} << 20;

[[noreturn]] void refuse(std::string_view what, size_t line, const std::string& why) {
  throw_bad_input(fmt::format("{} line {}: {}", what, line, why),
                  "lines of JSON with timestamp, input_length, output_length and perhaps hash_ids, "
                  "or a table of arrived_at, num_prefill_tokens, num_decode_tokens");
}

void check_row(const TraceRow& row, std::string_view what, size_t line) {
  if (!(row.at_s >= 0.0 && row.at_s <= longest_trace_s)) {
    refuse(what, line, "the time of arrival is negative or beyond all bounds");
  }
  for (const int64_t tokens : {row.input, row.output}) {
    if (tokens < 1 || tokens > most_tokens) {
      refuse(what, line,
             fmt::format("a length of {} tokens is not from 1 to {}", tokens, most_tokens));
    }
  }
}

int64_t integer_field(const Json& json, const char* key, std::string_view what, size_t line) {
  const auto found = json.find(key);
  if (found == json.end()) refuse(what, line, fmt::format("{} is missing", key));
  const double value = found->is_number() ? found->get<double>() : std::nan("");
  if (!(std::abs(value) < 1e15) || value != std::floor(value)) {
    refuse(what, line, fmt::format("{} is not a whole number", key));
  }
  return static_cast<int64_t>(value);
}

std::vector<uint64_t> block_ids(const Json& json, std::string_view what, size_t line) {
  std::vector<uint64_t> blocks;
  const auto found = json.find("hash_ids");
  if (found == json.end()) return blocks;
  if (!found->is_array()) refuse(what, line, "hash_ids is not a list");
  for (const Json& id : *found) {
    if (!id.is_number_integer()) refuse(what, line, "hash_ids holds something other than integers");
    blocks.push_back(id.is_number_unsigned() ? id.get<uint64_t>()
                                             : static_cast<uint64_t>(id.get<int64_t>()));
  }
  return blocks;
}

TraceRow json_row(const Json& json, std::string_view what, size_t line) {
  if (!json.is_object()) refuse(what, line, "not an object");
  TraceRow row;
  const auto timestamp = json.find("timestamp");
  if (timestamp == json.end() || !timestamp->is_number()) {
    refuse(what, line, "timestamp is missing or not a number");
  }
  row.at_s = timestamp->get<double>() * 1e-3;
  row.input = integer_field(json, "input_length", what, line);
  row.output = integer_field(json, "output_length", what, line);
  row.blocks = block_ids(json, what, line);
  check_row(row, what, line);
  return row;
}

bool fits(const TraceRow& row, int64_t block) {
  const int64_t needed = (row.input + block - 1) / block;
  return row.blocks.empty() || static_cast<int64_t>(row.blocks.size()) == needed;
}

// The size that explains how many blocks each row has.
int64_t block_size_of(const std::vector<TraceRow>& rows, std::string_view what) {
  const auto has_blocks = [](const TraceRow& row) { return !row.blocks.empty(); };
  if (std::none_of(rows.begin(), rows.end(), has_blocks)) return 0;
  const auto fits_all = [&](int64_t block) {
    return std::all_of(rows.begin(), rows.end(),
                       [&](const TraceRow& row) { return fits(row, block); });
  };
  if (fits_all(usual_block)) return usual_block;
  for (int64_t block = 1; block <= largest_block; block *= 2) {
    if (fits_all(block)) return block;
  }
  throw_bad_input(
      fmt::format("{}: no size of blocks fits the numbers of hash_ids of all rows", what),
      "every row needs one hash id for each block of its input_length, and all blocks "
      "have the same size, a power of two such as 512");
}

Trace parse_json_lines(std::string_view text, std::string_view what) {
  Trace trace;
  for_each_line(text, [&](std::string_view line, size_t number) {
    trace.rows.push_back(
        json_row(parse_json(line, fmt::format("{} line {}", what, number)), what, number));
  });
  trace.block_tokens = block_size_of(trace.rows, what);
  return trace;
}

Trace parse_table(std::string_view text, std::string_view what) {
  Trace trace;
  const CsvTable table = parse_csv(text, what);
  for (const CsvRow& from : table.rows()) {
    TraceRow row;
    row.at_s = from.number("arrived_at");
    row.input = from.integer("num_prefill_tokens");
    row.output = from.integer("num_decode_tokens");
    check_row(row, what, from.line());
    trace.rows.push_back(row);
  }
  return trace;
}

}  // namespace

Trace parse_trace(std::string_view text, std::string_view what) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string_view::npos && text[first] == '{';
  Trace trace = is_json ? parse_json_lines(text, what) : parse_table(text, what);
  if (trace.rows.empty()) throw_bad_input(fmt::format("{}: a trace without requests", what));
  std::stable_sort(trace.rows.begin(), trace.rows.end(),
                   [](const TraceRow& a, const TraceRow& b) { return a.at_s < b.at_s; });
  const double start = trace.rows.front().at_s;
  for (TraceRow& row : trace.rows) row.at_s -= start;
  return trace;
}

Trace read_trace(const std::filesystem::path& path, size_t max_bytes) {
  return parse_trace(read_text_file(path, max_bytes), path.string());
}

}  // namespace dure::load
