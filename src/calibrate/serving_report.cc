// See serving_report.h.
#include "calibrate/serving_report.h"

#include <fmt/format.h>

#include <chrono>
#include <map>

#include "base/error.h"
#include "calibrate/accuracy.h"
#include "model/load_spec.h"

namespace dure {
namespace {

struct Bars {  // relative; what the planner promises
  double tpot_mean, tpot_median, ttft_mean, ttft_median;
};
constexpr Bars fitted_bars = {0.12, 0.08, 0.25, 0.18};
constexpr Bars left_out_bars = {0.13, 0.09, 0.32, 0.25};
constexpr double pairs_bar = 0.97;
constexpr double pairs_gap = 0.10;
constexpr double band_least = 0.75;
constexpr double band_most = 0.85;
constexpr double milliseconds_bar = 1.0;

using Rows = std::vector<PredictedRow>;

std::vector<double> collect(const Rows& rows, double (*of)(const PredictedRow&)) {
  std::vector<double> values;
  for (const PredictedRow& row : rows) values.push_back(of(row));
  return values;
}
double tpot_error(const PredictedRow& row) {
  return row.tpot_error();
}
double ttft_error(const PredictedRow& row) {
  return row.ttft_error();
}
double tpot_ratio(const PredictedRow& row) {
  return row.row->tpot / row.means.tpot;
}
double ttft_ratio(const PredictedRow& row) {
  return row.row->ttft / row.means.ttft;
}
double tpot_measured(const PredictedRow& row) {
  return row.row->tpot;
}
double ttft_measured(const PredictedRow& row) {
  return row.row->ttft;
}
double tpot_predicted(const PredictedRow& row) {
  return row.means.tpot;
}
double ttft_predicted(const PredictedRow& row) {
  return row.means.ttft;
}

std::string group_name(const ServingRow& row) {
  return fmt::format("{} {} {}{}{}", row.model.substr(row.model.find('/') + 1), row.system,
                     to_string(row.engine), row.weights.empty() ? " bf16" : " " + row.weights,
                     row.prefill ? " pools" : "");
}

std::string errors_line(const std::string& name, const Rows& rows) {
  const Errors tpot = errors_of(collect(rows, tpot_error));
  const Errors ttft = errors_of(collect(rows, ttft_error));
  return fmt::format(
      "{:<52} {:>5}  {:>5.1f} {:>6.1f} {:>+6.1f} {:>5.2f}  {:>6.1f} {:>6.1f} {:>+6.1f} {:>5.2f}\n",
      name, rows.size(), 100 * tpot.mean, 100 * tpot.median, 100 * tpot.bias,
      rank_correlation(collect(rows, tpot_predicted), collect(rows, tpot_measured)),
      100 * ttft.mean, 100 * ttft.median, 100 * ttft.bias,
      rank_correlation(collect(rows, ttft_predicted), collect(rows, ttft_measured)));
}

std::string errors_table(const std::string& title, const Rows& rows) {
  std::string text = fmt::format(
      "\n{}\n{:<52} {:>5}  {:^25}  {:^26}\n{:<52} {:>5}  {:>5} {:>6} {:>6} {:>5}  {:>6} {:>6} "
      "{:>6} {:>5}\n",
      title, "", "", "TPOT error, %", "TTFT error, %", "", "rows", "mean", "median", "bias", "rank",
      "mean", "median", "bias", "rank");
  std::map<std::string, Rows> groups;
  for (const PredictedRow& row : rows) groups[group_name(*row.row)].push_back(row);
  for (const auto& [name, group] : groups) text += errors_line(name, group);
  return text + errors_line("all", rows);
}

class Checker {
 public:
  Checker(const std::vector<ServingRow>& rows, const ConfigFinder& configs,
          const ServingCheckOptions& options)
      : all_(rows), configs_(configs), options_(options) {}

  ServingCheck run() {
    predict_rows();
    say_errors("with the constants that ship", clean_);
    say_pairs("with the constants that ship", clean_);
    time_estimates();
    if (options_.leave_out && !clean_.empty()) refit();
    return check_;
  }

 private:
  void predict_rows() {
    std::vector<TimeConstants> shipped;
    for (const Engine engine : fitted_engines()) {
      shipped.push_back(serving_profile(engine).constants);
    }
    size_t unfit = 0;
    Rows rows;
    for (const ServingRow& row : all_) {
      try {
        if (!row.problem.empty()) throw_bad_input(row.problem);
        rows.push_back({&row, measured_run(row, spec_of(row.model)), {}});
      } catch (const Error& error) {
        // A row that nobody could predict, since it does not say what ran.
        if (!row.clean) {
          ++unfit;
          continue;
        }
        check_.text += fmt::format("{}: not predicted: {}\n", row.id, error.message());
        ++check_.failed;
      }
    }
    predict_all(rows, shipped);
    check_.passed += static_cast<int>(rows.size());
    for (const PredictedRow& row : rows) {
      if (row.row->clean) clean_.push_back(row);
      if (options_.show_rows) {
        check_.text += fmt::format(
            "{} TPOT {:.2f} ms, predicted {:.2f} ({:+.1f}%); TTFT {:.0f} ms, predicted {:.0f} "
            "({:+.1f}%){}\n",
            row.row->id, 1e3 * row.row->tpot, 1e3 * row.means.tpot, 100 * row.tpot_error(),
            1e3 * row.row->ttft, 1e3 * row.means.ttft, 100 * row.ttft_error(),
            row.row->clean ? "" : " not scored: " + row.row->flags);
      }
    }
    check_.text +=
        fmt::format("{} rows: {} predicted, {} of them clean and scored; {} do not say what ran\n",
                    all_.size(), rows.size(), clean_.size(), unfit);
  }

  const ModelSpec& spec_of(const std::string& model) {
    const auto known = specs_.find(model);
    if (known != specs_.end()) return known->second;
    const auto path = configs_.find(model);
    if (!path) throw_bad_input(fmt::format("no config.json for {}", model), "give --configs DIR");
    return specs_.emplace(model, load_spec(*path)).first->second;
  }

  void bar(bool holds, const std::string& text) {
    check_.text += fmt::format("{} {}\n", holds ? "held  " : "missed", text);
    ++(holds ? check_.passed : check_.failed);
  }

  void say_errors(const std::string& title, const Rows& rows) {
    if (!rows.empty()) check_.text += errors_table(title, rows);
  }

  void hold(const std::string& title, const Rows& rows, const Bars& bars) {
    const Errors tpot = errors_of(collect(rows, tpot_error));
    const Errors ttft = errors_of(collect(rows, ttft_error));
    bar(tpot.mean <= bars.tpot_mean && tpot.median <= bars.tpot_median,
        fmt::format("{}: TPOT mean/median {:.1f}/{:.1f}%, bar {:.0f}/{:.0f}%", title,
                    100 * tpot.mean, 100 * tpot.median, 100 * bars.tpot_mean,
                    100 * bars.tpot_median));
    bar(ttft.mean <= bars.ttft_mean && ttft.median <= bars.ttft_median,
        fmt::format("{}: TTFT mean/median {:.1f}/{:.1f}%, bar {:.0f}/{:.0f}%", title,
                    100 * ttft.mean, 100 * ttft.median, 100 * bars.ttft_mean,
                    100 * bars.ttft_median));
  }

  void say_pairs(const std::string& title, const Rows& rows) {
    const PairRanks ranks = rank_layouts(rows, pairs_gap);
    if (ranks.pairs == 0) return;
    const double right = static_cast<double>(ranks.right) / static_cast<double>(ranks.pairs);
    bar(right >= pairs_bar,
        fmt::format("{}: {} of {} pairs of layouts whose TPOT differs by more than {:.0f}% ranked "
                    "right ({:.1f}%), bar {:.0f}%",
                    title, ranks.right, ranks.pairs, 100 * pairs_gap, 100 * right,
                    100 * pairs_bar));
  }

  void time_estimates() {
    if (clean_.empty()) return;
    const auto start = std::chrono::steady_clock::now();
    for (PredictedRow& row : clean_) {
      row.means = predict(row.run, serving_profile(row.row->engine).constants);
    }
    const double each =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() * 1e3 /
        static_cast<double>(clean_.size());
    bar(each <= milliseconds_bar,
        fmt::format("one estimate takes {:.3f} ms in the mean, bar {:.0f}", each,
                    milliseconds_bar));
  }

  void progress(const std::string& what, int done, int of) const {
    if (options_.progress) fmt::print(stderr, "\r{}: {} of {} \x1b[K", what, done, of);
  }

  void refit() {
    Rows fitted = clean_;
    const std::vector<TimeConstants> constants =
        fit_to(fitted, [&](int done, int of) { progress("fitting all rows, steps", done, of); });
    predict_all(fitted, constants);
    say_errors("fitted on these rows", fitted);
    Rows left_out;
    const auto leave = [&](const std::string& title, std::string (*key)(const ServingRow&)) {
      const Rows rows = predict_left_out(
          clean_, key, [&](int done, int of) { progress(title + ", fits", done, of); });
      if (rows.empty()) {
        check_.text += fmt::format("{}: there is only one\n", title);
        return;
      }
      say_errors(title, rows);
      hold(title, rows, left_out_bars);
      say_pairs(title, rows);
      left_out.insert(left_out.end(), rows.begin(), rows.end());
    };
    leave("leave one model out", [](const ServingRow& row) { return row.model; });
    leave("leave one system out", [](const ServingRow& row) { return row.system; });
    if (options_.progress) fmt::print(stderr, "\r\x1b[K");
    hold("fitted on these rows", fitted, fitted_bars);
    say_bands(left_out);
    write_constants(constants, left_out);
  }

  void say_bands(const Rows& left_out) {
    if (left_out.empty()) return;
    const ServingProfile profile = serving_profile(Engine::vllm);
    const auto say = [&](const char* what, double (*ratio)(const PredictedRow&),
                         const ErrorBand& band) {
      const double share = share_within(collect(left_out, ratio), band);
      bar(share >= band_least && share <= band_most,
          fmt::format("the stated 80% band of {}, {:.2f} to {:.2f} times what is predicted, holds "
                      "{:.1f}% of left-out rows, bar {:.0f} to {:.0f}%",
                      what, band.low, band.high, 100 * share, 100 * band_least, 100 * band_most));
    };
    say("TPOT", tpot_ratio, profile.tpot);
    say("TTFT", ttft_ratio, profile.ttft);
  }

  void write_constants(const std::vector<TimeConstants>& constants, const Rows& left_out) {
    const ErrorBand ttft = band_of(collect(left_out, ttft_ratio));
    const ErrorBand tpot = band_of(collect(left_out, tpot_ratio));
    std::string text = fmt::format(
        "// Written by planner_accuracy --write from {} measured runs; do not edit.\n#pragma "
        "once\n\n"
        "#include \"simulate/serving_profile.h\"\n\nnamespace dure::calibrated {{\n\n"
        "inline constexpr ErrorBand ttft_band = {{{:.2f}, {:.2f}}};\n"
        "inline constexpr ErrorBand tpot_band = {{{:.2f}, {:.2f}}};\n",
        clean_.size(), ttft.low, ttft.high, tpot.low, tpot.high);
    for (size_t group = 0; group < constants.size(); ++group) {
      text += fmt::format("\ninline constexpr TimeConstants {} = {{\n",
                          to_string(fitted_engines()[group]));
      const TimeConstants& fitted = constants[group];
      for (const NamedConstant& constant : fitted_constants()) {
        text += fmt::format("    .{} = {:.4g},\n", constant.name, fitted.*constant.member);
      }
      text += "};\n";
    }
    check_.constants = text + "\n}  // namespace dure::calibrated\n";
  }

  const std::vector<ServingRow>& all_;
  const ConfigFinder& configs_;
  const ServingCheckOptions& options_;
  std::map<std::string, ModelSpec> specs_;
  Rows clean_;
  ServingCheck check_;
};

}  // namespace

ServingCheck check_serving(const std::vector<ServingRow>& rows, const ConfigFinder& configs,
                           const ServingCheckOptions& options) {
  return Checker(rows, configs, options).run();
}

}  // namespace dure
