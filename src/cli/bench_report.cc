// See bench_report.h.
#include "cli/bench_report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/units.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "load/files.h"

namespace dure {
namespace {

using load::ErrorCount;
using load::Percentiles;
using load::Summary;

constexpr double late_s = 0.005;  // from here on this program's own lag is said aloud

std::string plural(int64_t count, const char* what) {
  return fmt::format("{} {}{}", format_count(count), what, count == 1 ? "" : "s");
}

std::string rate_text(double per_s) {
  if (per_s >= 1000.0) return format_count(std::llround(per_s));
  return fmt::format("{:.{}f}", per_s, per_s < 10.0 ? 2 : 1);
}

std::string error_text(const ErrorCount& error) {
  const std::string what = error.status != 0 ? fmt::format("HTTP {}", error.status)
                                             : fmt::format("{}", to_string(error.trouble));
  std::string text = fmt::format("{} × {}", format_count(error.count), what);
  if (error.retry_after_s > 0.0) {
    text += fmt::format(" (Retry-After {})", format_seconds(error.retry_after_s));
  }
  if (!error.example.empty()) text += ": " + visible(error.example);
  return text;
}

std::string requests_text(const Summary& summary) {
  std::string text = fmt::format("{} completed", format_count(summary.completed));
  const auto add = [&](int64_t count, const char* what) {
    if (count > 0) text += fmt::format(", {} {}", format_count(count), what);
  };
  add(summary.failed, "failed");
  add(summary.cancelled, "cancelled");
  add(summary.interrupted, "interrupted");
  return text + fmt::format(" in {}", format_seconds(summary.duration_s));
}

std::string tokens_text(const Summary& summary) {
  if (summary.with_usage == 0) {
    return fmt::format("{} chunks out (the server does not count tokens)",
                       format_count(summary.chunks));
  }
  const std::string cached = summary.cached_tokens > 0
                                 ? fmt::format(" ({} cached)", format_count(summary.cached_tokens))
                                 : std::string();
  const bool all = summary.with_usage == summary.completed;
  return fmt::format(
      "{} in{}, {} out, counted by the server{}", format_count(summary.input_tokens), cached,
      format_count(summary.output_tokens),
      all ? "" : fmt::format(" in {} answers, else by chunks", format_count(summary.with_usage)));
}

std::string goodput_text(const Summary& summary, const load::Goal& goal) {
  std::string bounds;
  const auto add = [&](const char* name, const std::optional<double>& bound) {
    if (!bound) return;
    bounds += fmt::format("{}{} {}", bounds.empty() ? "" : ", ", name, format_seconds(*bound));
  };
  add("TTFT", goal.ttft_s);
  add("TPOT", goal.tpot_s);
  add("E2E", goal.e2e_s);
  return fmt::format("{} requests/s, {} of {} within {}", rate_text(summary.goodput_per_s),
                     format_count(summary.good), format_count(summary.sent), bounds);
}

void add_row(Table& table, const char* name, const Percentiles& times) {
  if (times.count == 0) return;
  std::vector<std::string> cells = {name};
  for (const double value : {times.mean, times.p50, times.p90, times.p95, times.p99, times.max}) {
    cells.push_back(format_seconds(value));
  }
  table.add(std::move(cells));
}

Table times_table() {
  constexpr auto right = Table::Align::right;
  return Table({{""},
                {"mean", right},
                {"p50", right},
                {"p90", right},
                {"p95", right},
                {"p99", right},
                {"max", right}});
}

// One load: counts, rates, times.
std::string load_text(const Summary& summary, const load::Goal& goal,
                      const load::DisturbedGaps* gaps) {
  Table facts({{""}, {""}});
  facts.add({"requests", requests_text(summary)});
  for (const ErrorCount& error : summary.errors) facts.add({"", error_text(error)});
  if (summary.completed > 0) {
    facts.add({"tokens", tokens_text(summary)});
    facts.add(
        {"rates",
         fmt::format("{} requests/s, {} tokens/s in, {} tokens/s out, {} under way",
                     rate_text(summary.requests_per_s), rate_text(summary.input_tokens_per_s),
                     rate_text(summary.output_tokens_per_s), rate_text(summary.mean_in_flight))});
  }
  if (goal.any()) facts.add({"goodput", goodput_text(summary, goal)});
  Table times = times_table();
  add_row(times, "TTFT", summary.ttft_s);
  add_row(times, "TPOT", summary.tpot_s);
  add_row(times, "ITL", summary.itl_s);
  if (gaps != nullptr) {
    add_row(times, "ITL beside a waiting background prompt", gaps->during_s);
    add_row(times, "ITL otherwise", gaps->otherwise_s);
  }
  add_row(times, "E2E", summary.e2e_s);
  const bool has_times = summary.e2e_s.count > 0;
  return facts.text() + (has_times ? "\n" + times.text() : "");
}

// What a reader should know before believing the numbers.
std::string remarks(const BenchReport& report) {
  const Summary& summary = report.summary;
  std::string text;
  if (summary.ended_early > 0) {
    text += fmt::format("{} ended before the asked length; --ignore-eos holds them to it\n",
                        plural(summary.ended_early, "answer"));
  }
  if (summary.without_text > 0) {
    text += fmt::format("{} had no text, so no TTFT\n", plural(summary.without_text, "answer"));
  }
  if (report.result->warm_up_failed > 0) {
    text +=
        fmt::format("{} of the warm-up failed\n", plural(report.result->warm_up_failed, "request"));
  }
  const double lag_s = summary.send_lag_s.p99;
  const double timer_s = report.result->timer_lag_s.p99;
  text += fmt::format("this program: sent late by p99 {}, read late by p99 {}{}\n",
                      format_seconds(lag_s), format_seconds(timer_s),
                      lag_s > late_s || timer_s > late_s
                          ? "; it was too busy, so that times are this much too long"
                          : "");
  if (report.result->stopped) text += "stopped before its end\n";
  return text;
}

}  // namespace

Json bench_json(const BenchReport& report, const Json& settings) {
  Json json = settings;
  json["prompts_as"] = report.ids ? "ids" : "text";
  json["stopped"] = report.result->stopped;
  json["warm_up_failed"] = report.result->warm_up_failed;
  json.update(summary_json(report.summary, report.goal));
  json["timer_lag_s"] = percentiles_json(report.result->timer_lag_s);
  if (report.background.sent > 0) {
    json["background"] = summary_json(report.background, {});
    const load::DisturbedGaps gaps =
        load::gaps_beside(report.result->records, report.result->background);
    json["itl_beside_background_prompt_s"] = percentiles_json(gaps.during_s);
    json["itl_otherwise_s"] = percentiles_json(gaps.otherwise_s);
  }
  return json;
}

std::string bench_text(const BenchReport& report) {
  std::string text = report.title + "\n\n";
  if (report.background.sent == 0) {
    text += load_text(report.summary, report.goal, nullptr);
  } else {
    const load::DisturbedGaps gaps =
        load::gaps_beside(report.result->records, report.result->background);
    text += load_text(report.summary, report.goal, &gaps);
    text += "\nin the background\n" + load_text(report.background, {}, nullptr);
  }
  return text + "\n" + remarks(report);
}

std::string bench_progress(const load::LoadProgress& progress, int64_t requests) {
  if (progress.warms_up) return "warming up";
  std::string done = format_count(progress.finished);
  if (requests < 100'000'000) done += " of " + format_count(requests);
  std::string text = fmt::format("{:.0f} s: {} done, {} under way", progress.elapsed_s, done,
                                 format_count(progress.in_flight));
  if (progress.failed > 0) text += fmt::format(", {} failed", format_count(progress.failed));
  return text;
}

}  // namespace dure
