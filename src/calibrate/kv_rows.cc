// See kv_rows.h: rows from the file, and from a row to a prediction.
#include "calibrate/kv_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/csv.h"
#include "base/error.h"
#include "cluster/gpu.h"
#include "cost/engine_memory.h"
#include "cost/retype.h"
#include "model/load_spec.h"

namespace dure {
namespace {

constexpr double gib = 1024.0 * 1024.0 * 1024.0;
constexpr int64_t most_ranks = 1 << 16;
constexpr int64_t most_tokens = int64_t{1} << 40;

int size_in(const CsvRow& row, std::string_view column) {
  const int64_t size = row.optional_integer(column).value_or(1);
  if (size < 1 || size > most_ranks) row.refuse(column, "a size from 1 to 65536 was expected");
  return static_cast<int>(size);
}

std::optional<int64_t> tokens_in(const CsvRow& row, std::string_view column) {
  const std::optional<int64_t> tokens = row.optional_integer(column);
  if (tokens && (*tokens < 1 || *tokens > most_tokens)) {
    row.refuse(column, "a positive number of tokens was expected");
  }
  return tokens;
}

// Rows say "H100-80GB", the catalogue "h100" or, where two sizes were sold, "a100-80".
Gpu gpu_named(const std::string& name) {
  if (name.find('+') != std::string::npos) {
    throw_bad_input(
        fmt::format("{}: GPUs of several kinds, and not said which layers each holds", name));
  }
  std::string small = name;
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (small.ends_with("gb")) small.resize(small.size() - 2);
  const std::vector<std::string> known = known_gpus();
  for (const std::string& each : {small, small.substr(0, small.rfind('-'))}) {
    if (std::find(known.begin(), known.end(), each) != known.end()) return find_gpu(each);
  }
  return find_gpu(name);
}

// Rows name a scheme (w8a8: weights and activations of 8 bits), the planner a format of weights.
std::string_view format_named(const std::string& dtype) {
  if (dtype.empty()) return "bf16";
  if (dtype == "w8a8" || dtype == "w8a16") return "int8";
  if (dtype == "w4a16" || dtype == "awq" || dtype == "gptq") return "int4";
  return dtype;
}

int64_t bytes_of_element(const std::string& dtype) {
  return dtype.starts_with("fp8") ? 1 : dtype == "fp32" || dtype == "f32" ? 4 : 2;
}

KvClass class_of(const ModelSpec& spec) {
  KvClass kind = KvClass::dense;
  const auto raise = [&kind](KvClass to) { kind = std::max(kind, to); };
  for (const LayerSpec& layer : spec.layers) {
    const AttentionSpec& attention = layer.attention;
    if (std::holds_alternative<MlaSpec>(attention)) raise(KvClass::latent);
    if (std::holds_alternative<MoeFfn>(layer.ffn) && kind != KvClass::latent) {
      raise(KvClass::mixture);
    }
    if (window_of(attention)) raise(KvClass::windowed);
    if (std::holds_alternative<DeltaNetSpec>(attention) ||
        std::holds_alternative<Mamba2Spec>(attention) ||
        std::holds_alternative<CompressedSpec>(attention)) {
      raise(KvClass::hybrid);
    }
  }
  return kind;
}

std::optional<double> error_of(const KvResult& result) {
  const KvRow& row = result.row;
  if (row.tokens) {
    return static_cast<double>(result.tokens) / static_cast<double>(*row.tokens) - 1.0;
  }
  if (!row.pool_gib) return std::nullopt;
  if (*row.pool_gib <= 0 || result.pool_gib <= 0) {
    return *row.pool_gib <= 0 && result.pool_gib <= 0 ? 0.0 : -1.0;
  }
  return result.pool_gib / *row.pool_gib - 1.0;
}

void predict(KvResult& result, const ConfigFinder& configs) {
  const KvRow& row = result.row;
  const auto file = configs.find(row.model);
  if (!file) throw_bad_input(fmt::format("no config.json for {}", row.model));
  ModelSpec spec = load_spec(*file);
  const Gpu gpu = gpu_named(row.gpu);
  check_layout(row.layout);
  check_layout_for(spec, row.layout);
  EngineRun run;
  run.profile = engine_profile(find_engine(row.engine), row.version, gpu.usable_bytes);
  run.gpu_bytes = gpu.usable_bytes;
  run.utilization = row.utilization.value_or(0.0);
  run.max_len = row.max_len.value_or(0);
  run.element_bytes = row.dtype == "fp32" ? 4 : 2;
  run.kv_element_bytes = bytes_of_element(row.kv_dtype);
  const std::optional<WeightFormat> format = retype(spec, format_named(row.dtype));
  const MemoryModel model(spec, format);
  result.kind = class_of(spec);
  result.overheads = run.profile.label;
  const RankMemory memory = engine_rank_memory(model, run, row.layout, 0);
  const EngineCapacity capacity = engine_capacity(model, run, row.layout);
  if (!capacity.known) {
    throw_bad_input(
        fmt::format("how {} lays out the cache of {} is not known", row.engine, spec.family));
  }
  result.weights_gib = static_cast<double>(memory.weights) / gib;
  result.pool_gib = static_cast<double>(capacity.pool) / gib;
  // Rows count a data-parallel deployment's tokens together.
  result.tokens = capacity.tokens * row.layout.dp;
  result.error = error_of(result);
}

}  // namespace

std::vector<KvRow> read_kv_rows(const std::filesystem::path& file) {
  const CsvTable table = read_csv_file(file);
  std::vector<KvRow> rows;
  for (const CsvRow& from : table.rows()) {
    KvRow row;
    row.line = from.line();
    row.engine = from.text("engine");
    row.version = from.optional_text("version").value_or("");
    row.model = from.text("model");
    if (row.model.empty()) from.refuse("model", "no model is named");
    row.gpu = from.text("gpu");
    row.layout = {size_in(from, "tp"), size_in(from, "pp"), size_in(from, "dp"),
                  size_in(from, "ep")};
    row.dtype = from.optional_text("dtype").value_or("");
    row.kv_dtype = from.optional_text("kv_dtype").value_or("");
    row.utilization = from.optional_number("util");
    if (row.utilization && (*row.utilization <= 0 || *row.utilization > 1)) {
      from.refuse("util", "a share above 0 and up to 1 was expected");
    }
    row.max_len = tokens_in(from, "max_len");
    row.weights_gib = from.optional_number("weights_gib");
    row.pool_gib = from.optional_number("kv_gib");
    row.tokens = tokens_in(from, "kv_tokens");
    row.source = from.optional_text("source").value_or("");
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string to_string(KvClass kind) {
  switch (kind) {
    case KvClass::dense:
      return "dense";
    case KvClass::latent:
      return "MLA";
    case KvClass::mixture:
      return "MoE";
    case KvClass::windowed:
      return "windowed";
    case KvClass::hybrid:
      return "hybrid";
  }
  return "?";
}

double kv_bar(KvClass kind) {
  return kind == KvClass::dense || kind == KvClass::latent ? 0.02 : 0.05;
}

KvResult predict_kv_row(const KvRow& row, const ConfigFinder& configs) {
  KvResult result;
  result.row = row;
  try {
    predict(result, configs);
  } catch (const Error& error) {
    result.problem = error.message();
  }
  return result;
}

}  // namespace dure
