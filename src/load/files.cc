// See files.h.
#include "load/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace dure::load {
namespace {

// What both files say of a request, in the same order; null where it is not known.
Json fields_of(const Record& record, const char* load, double start_s) {
  const bool has_tokens = !record.arrivals_s.empty();
  const auto when = [&](double at_s) { return at_s - start_s; };
  Json fields = {{"load", load},
                 {"number", record.number},
                 {"outcome", to_string(record.outcome)},
                 {"error", nullptr},
                 {"status", nullptr},
                 {"scheduled_s", when(record.scheduled_s)},
                 {"sent_s", when(record.sent_s)},
                 {"first_token_s", nullptr},
                 {"last_token_s", nullptr},
                 {"end_s", when(record.end_s)},
                 {"ttft_s", nullptr},
                 {"tpot_s", nullptr},
                 {"e2e_s", e2e_of(record)},
                 {"longest_gap_s", nullptr},
                 {"chunks", record.arrivals_s.size()},
                 {"asked_input_tokens", nullptr},
                 {"input_tokens", nullptr},
                 {"cached_tokens", nullptr},
                 {"asked_output_tokens", record.asked_output},
                 {"output_tokens", record.output_tokens},
                 {"tokens_counted_by", record.has_usage ? "usage" : "chunks"},
                 {"finish_reason", nullptr},
                 {"detail", nullptr}};
  if (record.trouble != Trouble::none) {
    fields["error"] = to_string(record.trouble);
    fields["detail"] = record.detail;
  }
  if (record.status != 0) fields["status"] = record.status;
  if (!record.finish_reason.empty()) fields["finish_reason"] = record.finish_reason;
  if (record.asked_input > 0) fields["asked_input_tokens"] = record.asked_input;
  if (record.has_usage) {
    fields["input_tokens"] = record.input_tokens;
    fields["cached_tokens"] = record.cached_tokens;
  }
  if (!has_tokens) return fields;
  fields["first_token_s"] = when(record.arrivals_s.front());
  fields["last_token_s"] = when(record.arrivals_s.back());
  fields["ttft_s"] = ttft_of(record);
  if (const auto tpot = tpot_of(record)) fields["tpot_s"] = *tpot;
  double longest = 0.0;
  for (size_t i = 1; i < record.arrivals_s.size(); ++i) {
    longest = std::max(longest, record.arrivals_s[i] - record.arrivals_s[i - 1]);
  }
  if (record.arrivals_s.size() > 1) fields["longest_gap_s"] = longest;
  return fields;
}

std::string csv_field(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_number_float()) return fmt::format("{:.6f}", value.get<double>());
  if (!value.is_string()) return value.dump();
  // Control characters would not survive in a line, nor bytes that are not UTF-8 in a reader.
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  text = text.substr(1, text.size() - 2);
  if (text.find_first_of(",\"\\") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  return quoted + '"';
}

void append_line(std::string& csv, const Json& fields, bool header) {
  bool first = true;
  for (const auto& [key, value] : fields.items()) {
    if (!first) csv += ',';
    first = false;
    csv += header ? key : csv_field(value);
  }
  csv += '\n';
}

template <class Use>
void for_each_record(const LoadResult& result, const Use& use) {
  for (const Record& record : result.records) use(record, "main");
  for (const Record& record : result.background) use(record, "background");
}

}  // namespace

Json percentiles_json(const Percentiles& percentiles) {
  return {{"count", percentiles.count}, {"mean", percentiles.mean}, {"p50", percentiles.p50},
          {"p90", percentiles.p90},     {"p95", percentiles.p95},   {"p99", percentiles.p99},
          {"max", percentiles.max}};
}

Json summary_json(const Summary& summary, const Goal& goal) {
  Json errors = Json::array();
  for (const ErrorCount& error : summary.errors) {
    Json entry = {
        {"error", to_string(error.trouble)}, {"count", error.count}, {"example", error.example}};
    if (error.status != 0) entry["status"] = error.status;
    if (error.retry_after_s > 0.0) entry["retry_after_s"] = error.retry_after_s;
    errors.push_back(std::move(entry));
  }
  const bool all = summary.with_usage == summary.completed;
  Json json = {{"duration_s", summary.duration_s},
               {"requests", summary.sent},
               {"completed", summary.completed},
               {"failed", summary.failed},
               {"cancelled", summary.cancelled},
               {"interrupted", summary.interrupted},
               {"errors", std::move(errors)},
               {"without_text", summary.without_text},
               {"ended_early", summary.ended_early},
               {"tokens_counted_by", all                       ? "usage"
                                     : summary.with_usage == 0 ? "chunks"
                                                               : "both"},
               {"input_tokens", summary.input_tokens},
               {"cached_tokens", summary.cached_tokens},
               {"output_tokens", summary.output_tokens},
               {"chunks", summary.chunks},
               {"requests_per_s", summary.requests_per_s},
               {"input_tokens_per_s", summary.input_tokens_per_s},
               {"output_tokens_per_s", summary.output_tokens_per_s},
               {"mean_in_flight", summary.mean_in_flight},
               {"ttft_s", percentiles_json(summary.ttft_s)},
               {"tpot_s", percentiles_json(summary.tpot_s)},
               {"itl_s", percentiles_json(summary.itl_s)},
               {"e2e_s", percentiles_json(summary.e2e_s)},
               {"send_lag_s", percentiles_json(summary.send_lag_s)}};
  if (goal.any()) {
    Json goodput = {{"requests", summary.good}, {"requests_per_s", summary.goodput_per_s}};
    if (goal.ttft_s) goodput["ttft_s"] = *goal.ttft_s;
    if (goal.tpot_s) goodput["tpot_s"] = *goal.tpot_s;
    if (goal.e2e_s) goodput["e2e_s"] = *goal.e2e_s;
    json["goodput"] = std::move(goodput);
  }
  return json;
}

std::string records_csv(const LoadResult& result) {
  std::string csv;
  append_line(csv, fields_of(Record{}, "main", 0.0), true);
  for_each_record(result, [&](const Record& record, const char* load) {
    append_line(csv, fields_of(record, load, result.start_s), false);
  });
  return csv;
}

Json records_json(const LoadResult& result) {
  Json list = Json::array();
  for_each_record(result, [&](const Record& record, const char* load) {
    Json fields = fields_of(record, load, result.start_s);
    Json arrivals = Json::array();
    for (const double at_s : record.arrivals_s) arrivals.push_back(at_s - result.start_s);
    fields["arrivals_s"] = std::move(arrivals);
    list.push_back(std::move(fields));
  });
  return list;
}

}  // namespace dure::load
