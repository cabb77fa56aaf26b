// See summary.h.
#include "load/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/units.h"

namespace dure::load {
namespace {

double at_share(const std::vector<double>& sorted, double share) {
  const double rank = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(rank);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (rank - std::floor(rank));
}

void count_error(const Record& record, std::vector<ErrorCount>& errors) {
  const int status = record.trouble == Trouble::status ? record.status : 0;
  auto found = std::find_if(errors.begin(), errors.end(), [&](const ErrorCount& error) {
    return error.trouble == record.trouble && error.status == status;
  });
  if (found == errors.end()) {
    found = errors.insert(errors.end(), {record.trouble, status, 0, record.detail, 0.0});
  }
  ++found->count;
  found->retry_after_s = std::max(found->retry_after_s, record.retry_after_s);
}

struct Times {
  std::vector<double> ttft;
  std::vector<double> tpot;
  std::vector<double> itl;
  std::vector<double> e2e;
};

void take_completed(const Record& record, Summary& summary, Times& times) {
  ++summary.completed;
  summary.ended_early += record.output_tokens < record.asked_output ? 1 : 0;
  summary.with_usage += record.has_usage ? 1 : 0;
  summary.input_tokens += record.input_tokens;
  summary.cached_tokens += record.cached_tokens;
  summary.output_tokens += record.output_tokens;
  summary.chunks += static_cast<int64_t>(record.arrivals_s.size());
  times.e2e.push_back(e2e_of(record));
  if (record.arrivals_s.empty()) {
    ++summary.without_text;
    return;
  }
  times.ttft.push_back(ttft_of(record));
  if (const auto tpot = tpot_of(record)) times.tpot.push_back(*tpot);
  for (size_t i = 1; i < record.arrivals_s.size(); ++i) {
    times.itl.push_back(record.arrivals_s[i] - record.arrivals_s[i - 1]);
  }
}

struct Span {
  double begin = 0.0;
  double end = 0.0;
};

// From being sent to the first token (or the end, where none came), as spans apart from each other.
std::vector<Span> waits_of(const std::vector<Record>& records) {
  std::vector<Span> spans;
  spans.reserve(records.size());
  for (const Record& record : records) {
    spans.push_back(
        {record.sent_s, record.arrivals_s.empty() ? record.end_s : record.arrivals_s.front()});
  }
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.begin < b.begin; });
  std::vector<Span> apart;
  for (const Span& span : spans) {
    if (!apart.empty() && span.begin <= apart.back().end) {
      apart.back().end = std::max(apart.back().end, span.end);
    } else {
      apart.push_back(span);
    }
  }
  return apart;
}

bool overlaps(const std::vector<Span>& apart, double begin, double end) {
  const auto next = std::partition_point(apart.begin(), apart.end(),
                                         [&](const Span& span) { return span.end <= begin; });
  return next != apart.end() && next->begin < end;
}

}  // namespace

Percentiles percentiles_of(std::vector<double> values) {
  Percentiles made;
  if (values.empty()) return made;
  std::sort(values.begin(), values.end());
  double sum = 0.0;
  for (const double value : values) sum += value;
  made.count = static_cast<int64_t>(values.size());
  made.mean = sum / static_cast<double>(values.size());
  made.p50 = at_share(values, 0.50);
  made.p90 = at_share(values, 0.90);
  made.p95 = at_share(values, 0.95);
  made.p99 = at_share(values, 0.99);
  made.max = values.back();
  return made;
}

double ttft_of(const Record& record) {
  return record.arrivals_s.front() - record.scheduled_s;
}

std::optional<double> tpot_of(const Record& record) {
  if (record.output_tokens < 2 || record.arrivals_s.size() < 2) return std::nullopt;
  return (record.arrivals_s.back() - record.arrivals_s.front()) /
         static_cast<double>(record.output_tokens - 1);
}

double e2e_of(const Record& record) {
  return record.end_s - record.scheduled_s;
}

bool Goal::is_met_by(const Record& record) const {
  if (record.outcome != Outcome::completed || record.arrivals_s.empty()) return false;
  const std::optional<double> tpot = tpot_of(record);
  return (!ttft_s || ttft_of(record) <= *ttft_s) && (!tpot_s || !tpot || *tpot <= *tpot_s) &&
         (!e2e_s || e2e_of(record) <= *e2e_s);
}

Goal Goal::parse(std::string_view text, std::string_view what) {
  Goal goal;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    begin = end + 1;
    const size_t colon = std::min(part.find(':'), part.size());
    const std::string_view name = part.substr(0, colon);
    std::optional<double>* bound = name == "ttft"   ? &goal.ttft_s
                                   : name == "tpot" ? &goal.tpot_s
                                   : name == "e2e"  ? &goal.e2e_s
                                                    : nullptr;
    if (bound == nullptr || *bound || colon == part.size()) {
      throw_bad_input(fmt::format("{}: cannot read '{:.60}'", what, part),
                      "write bounds of ttft, tpot and e2e: ttft:500ms,tpot:50ms",
                      std::string(what));
    }
    *bound = parse_seconds(part.substr(colon + 1), what);
  }
  return goal;
}

Summary summarize(const std::vector<Record>& records, double start_s, const Goal& goal) {
  Summary summary;
  Times times;
  std::vector<double> lags;
  double end_s = start_s;
  double in_flight_s = 0.0;
  for (const Record& record : records) {
    ++summary.sent;
    end_s = std::max(end_s, record.end_s);
    in_flight_s += record.end_s - record.sent_s;
    lags.push_back(record.sent_s - record.scheduled_s);
    if (record.outcome == Outcome::completed) take_completed(record, summary, times);
    if (record.outcome == Outcome::failed) {
      ++summary.failed;
      count_error(record, summary.errors);
    }
    summary.cancelled += record.outcome == Outcome::cancelled ? 1 : 0;
    summary.interrupted += record.outcome == Outcome::interrupted ? 1 : 0;
    summary.good += goal.is_met_by(record) ? 1 : 0;
  }
  std::stable_sort(summary.errors.begin(), summary.errors.end(),
                   [](const ErrorCount& a, const ErrorCount& b) { return a.count > b.count; });
  summary.duration_s = end_s - start_s;
  const double each = summary.duration_s > 0.0 ? 1.0 / summary.duration_s : 0.0;
  summary.requests_per_s = static_cast<double>(summary.completed) * each;
  summary.input_tokens_per_s = static_cast<double>(summary.input_tokens) * each;
  summary.output_tokens_per_s = static_cast<double>(summary.output_tokens) * each;
  summary.goodput_per_s = static_cast<double>(summary.good) * each;
  summary.mean_in_flight = in_flight_s * each;
  summary.ttft_s = percentiles_of(std::move(times.ttft));
  summary.tpot_s = percentiles_of(std::move(times.tpot));
  summary.itl_s = percentiles_of(std::move(times.itl));
  summary.e2e_s = percentiles_of(std::move(times.e2e));
  summary.send_lag_s = percentiles_of(std::move(lags));
  return summary;
}

DisturbedGaps gaps_beside(const std::vector<Record>& records, const std::vector<Record>& others) {
  const std::vector<Span> waits = waits_of(others);
  std::vector<double> during;
  std::vector<double> otherwise;
  for (const Record& record : records) {
    if (record.outcome != Outcome::completed) continue;
    for (size_t i = 1; i < record.arrivals_s.size(); ++i) {
      const double begin = record.arrivals_s[i - 1];
      const double end = record.arrivals_s[i];
      (overlaps(waits, begin, end) ? during : otherwise).push_back(end - begin);
    }
  }
  return {percentiles_of(std::move(during)), percentiles_of(std::move(otherwise))};
}

}  // namespace dure::load
