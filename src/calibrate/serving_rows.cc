// See serving_rows.h.
#include "calibrate/serving_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/csv.h"

namespace dure {
namespace {

int64_t positive(const CsvRow& row, std::string_view column) {
  const int64_t value = row.integer(column);
  if (value < 1 || value > 10'000'000) row.refuse(column, "must be from 1 to 10,000,000");
  return value;
}

// Counts are written as "4" or "4.0", and as 0 where there is no such thing.
int count_or(const CsvRow& row, std::string_view column, int otherwise) {
  const std::optional<double> value = row.optional_number(column);
  if (!value) return otherwise;
  if (*value < 0 || *value > 1'000'000) row.refuse(column, "must be from 0 to 1,000,000");
  return std::max(1, static_cast<int>(*value));
}

double milliseconds(const CsvRow& row, std::string_view column) {
  const double value = row.number(column);
  if (!(value > 0.0)) row.refuse(column, "must be above 0");
  return value / 1e3;
}

Layout layout_of(const CsvRow& row, const std::string& prefix) {
  Layout layout;
  layout.tp = count_or(row, prefix + "tp_size", 1);
  layout.pp = count_or(row, prefix + "pp_size", 1);
  layout.dp = count_or(row, prefix + "attention_dp_size", 1);
  layout.ep = count_or(row, prefix + "moe_ep_size", 1);
  const int moe_tp = count_or(row, prefix + "moe_tp_size", 1);
  // Some exports write tp 8 with ep 8 as 64, 8, 8: each size times the other.
  if (moe_tp == layout.ep && moe_tp > 1 && layout.tp * layout.dp == moe_tp * layout.ep) {
    (layout.tp > 1 ? layout.tp : layout.dp) /= moe_tp;
  }
  return layout;
}

// A layout whose ep does not divide tp * dp is one whose experts are all everywhere.
Layout with_sound_experts(Layout layout) {
  if (layout.stage_ranks() % layout.ep != 0) layout.ep = 1;
  return layout;
}

// "1P8/8d+3D8/1": workers, GPUs of each, ep, and a d where attention is data parallel.
std::optional<PoolRow> pool_of(std::string_view text, char kind) {
  const size_t at = text.find(kind);
  const size_t slash = text.find('/', at == std::string_view::npos ? 0 : at);
  if (at == std::string_view::npos || slash == std::string_view::npos) return std::nullopt;
  const size_t begin = text.rfind('+', at) == std::string_view::npos ? 0 : text.rfind('+', at) + 1;
  const int workers = std::atoi(std::string(text.substr(begin, at - begin)).c_str());
  const int gpus = std::atoi(std::string(text.substr(at + 1, slash - at - 1)).c_str());
  const int ep = std::atoi(std::string(text.substr(slash + 1)).c_str());
  if (workers < 1 || gpus < 1 || ep < 1 || workers > 4096 || gpus > 4096) return std::nullopt;
  const std::string_view rest = text.substr(slash, text.find('+', slash) - slash);
  PoolRow pool{workers, {gpus, 1, 1, ep}};
  if (rest.back() == 'd') pool.layout = {1, 1, gpus, ep};
  pool.layout = with_sound_experts(pool.layout);
  return pool;
}

void annotate(ServingRow& row, const CsvRow& note) {
  row.clean = note.integer("clean") == 1;
  row.flags = note.optional_text("flags").value_or("");
  row.same_run = note.optional_text("same_as").value_or("");
  row.varied_lengths = note.optional_text("lengths").value_or("") != "fixed";
  if (note.optional_number("tp")) {
    row.layout.tp = count_or(note, "tp", 1);
    row.layout.dp = count_or(note, "attn_dp", 1);
    row.layout.ep = count_or(note, "moe_ep", 1);
  }
  row.concurrency = count_or(note, "reqs_per_rank", static_cast<int>(row.concurrency));
  if (const auto workers = note.optional_text("disagg_workers")) {
    row.prefill = pool_of(*workers, 'P');
    row.decode = pool_of(*workers, 'D');
  }
}

ServingRow read_row(const CsvRow& csv) {
  ServingRow row;
  row.id = csv.text("id");
  row.model = csv.text("model_path");
  row.system = csv.text("system");
  row.engine = find_engine(csv.text("backend"));
  row.version = csv.optional_text("backend_version").value_or("");
  row.weights = csv.optional_text("gemm_quant_mode").value_or("");
  row.experts = csv.optional_text("moe_quant_mode").value_or(row.weights);
  row.day = csv.optional_text("measured_on").value_or("");
  row.input = positive(csv, "isl");
  row.output = positive(csv, "osl");
  // Some sweeps give the batch of a dp rank instead.
  const bool in_all = csv.optional_text("concurrency").has_value();
  if (in_all || csv.optional_text("batch_size")) {
    row.in_all = positive(csv, in_all ? "concurrency" : "batch_size");
  } else {
    row.problem = "the number of requests in flight is not known";
  }
  row.ttft = milliseconds(csv, "silicon_ttft_ms");
  row.tpot = milliseconds(csv, "silicon_tpot_ms");
  row.layout = layout_of(csv, "");
  if (!in_all) row.in_all *= row.layout.dp;
  row.concurrency = std::max<int64_t>(1, row.in_all / row.layout.dp);
  // Public benchmarks stamp their runs with a day; sweeps of a tool are named by the model.
  row.varied_lengths = row.id.rfind("20", 0) == 0;
  return row;
}

}  // namespace

std::vector<ServingRow> read_serving_rows(const std::filesystem::path& file,
                                          const std::optional<std::filesystem::path>& annotations) {
  std::map<std::string, CsvRow> notes;
  std::optional<CsvTable> note_table;
  if (annotations) {
    note_table = read_csv_file(*annotations);
    for (const CsvRow& note : note_table->rows()) notes.emplace(note.text("id"), note);
  }
  std::vector<ServingRow> rows;
  const CsvTable table = read_csv_file(file);
  for (const CsvRow& csv : table.rows()) {
    ServingRow row = read_row(csv);
    if (const auto note = notes.find(row.id); note != notes.end()) annotate(row, note->second);
    const bool pools = csv.optional_text("mode").value_or("agg") == "disagg";
    if (!row.problem.empty()) row.clean = false;
    if (pools && (!row.prefill || !row.decode)) {
      row.clean = false;
      row.problem = "the numbers of prefill and decode workers are not known";
    }
    if (!pools) {
      row.prefill.reset();
      row.decode.reset();
    }
    row.layout = with_sound_experts(row.layout);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace dure
