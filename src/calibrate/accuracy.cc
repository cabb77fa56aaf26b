// See accuracy.h.
#include "calibrate/accuracy.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace dure {
namespace {

double median_of(std::vector<double> values) {
  if (values.empty()) return 0.0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Ranks from 0, ties sharing their mean.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t j = i;
    while (j < order.size() && values[order[j]] == values[order[i]]) ++j;
    for (size_t k = i; k < j; ++k) ranks[order[k]] = 0.5 * static_cast<double>(i + j - 1);
    i = j;
  }
  return ranks;
}

size_t group_of(Engine engine) {
  const auto& engines = fitted_engines();
  const auto found = std::find(engines.begin(), engines.end(), engine);
  return static_cast<size_t>(found - engines.begin());
}

std::vector<TimeConstants> hand_set() {
  std::vector<TimeConstants> constants;
  constants.reserve(fitted_engines().size());
  for (const Engine engine : fitted_engines()) constants.push_back(hand_set_constants(engine));
  return constants;
}

std::vector<FitSample> samples_of(const std::vector<const PredictedRow*>& rows) {
  std::vector<FitSample> samples;
  samples.reserve(rows.size());
  for (const PredictedRow* row : rows) {
    samples.push_back({group_of(row->row->engine),
                       [row](const TimeConstants& c) { return predict(row->run, c); },
                       row->row->ttft, row->row->tpot});
  }
  return samples;
}

}  // namespace

Errors errors_of(const std::vector<double>& relative) {
  Errors errors;
  errors.rows = relative.size();
  if (relative.empty()) return errors;
  std::vector<double> absolute;
  absolute.reserve(relative.size());
  for (const double error : relative) absolute.push_back(std::abs(error));
  errors.mean =
      std::accumulate(absolute.begin(), absolute.end(), 0.0) / static_cast<double>(absolute.size());
  errors.median = median_of(absolute);
  errors.bias = median_of(relative);
  return errors;
}

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 3) return 0.0;
  const std::vector<double> x = ranks_of(a);
  const std::vector<double> y = ranks_of(b);
  const double mean = 0.5 * static_cast<double>(a.size() - 1);
  double xy = 0.0;
  double xx = 0.0;
  double yy = 0.0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0.0 && yy > 0.0 ? xy / std::sqrt(xx * yy) : 0.0;
}

PairRanks rank_layouts(const std::vector<PredictedRow>& rows, double gap) {
  using Key = std::tuple<std::string, std::string, Engine, std::string, int64_t, int64_t, int64_t>;
  std::map<Key, std::vector<const PredictedRow*>> alike;
  for (const PredictedRow& row : rows) {
    const ServingRow& r = *row.row;
    if (r.prefill) continue;
    alike[{r.model, r.system, r.engine, r.weights, r.input, r.output, r.in_all}].push_back(&row);
  }
  PairRanks ranks;
  for (const auto& [key, group] : alike) {
    for (size_t i = 0; i < group.size(); ++i) {
      for (size_t k = i + 1; k < group.size(); ++k) {
        if (group[i]->row->layout == group[k]->row->layout) continue;
        const double a = group[i]->row->tpot;
        const double b = group[k]->row->tpot;
        if (std::max(a, b) <= (1.0 + gap) * std::min(a, b)) continue;
        ++ranks.pairs;
        const double said_a = group[i]->means.tpot;
        const double said_b = group[k]->means.tpot;
        if (a < b ? said_a < said_b : said_b < said_a) ++ranks.right;
      }
    }
  }
  return ranks;
}

const std::vector<Engine>& fitted_engines() {
  static const std::vector<Engine> engines = {Engine::vllm, Engine::sglang, Engine::trtllm};
  return engines;
}

std::vector<TimeConstants> fit_to(const std::vector<PredictedRow>& rows,
                                  const std::function<void(int done, int of)>& progress) {
  std::vector<const PredictedRow*> all;
  all.reserve(rows.size());
  for (const PredictedRow& row : rows) all.push_back(&row);
  FitOptions options;
  options.progress = progress;
  return fit_constants(samples_of(all), hand_set(), options);
}

void predict_all(std::vector<PredictedRow>& rows, const std::vector<TimeConstants>& constants) {
  for (PredictedRow& row : rows) {
    row.means = predict(row.run, constants[group_of(row.row->engine)]);
  }
}

std::vector<PredictedRow> predict_left_out(const std::vector<PredictedRow>& rows,
                                           const std::function<std::string(const ServingRow&)>& key,
                                           const std::function<void(int done, int of)>& progress) {
  std::set<std::string> keys;
  for (const PredictedRow& row : rows) keys.insert(key(*row.row));
  if (keys.size() < 2) return {};
  std::vector<PredictedRow> left_out;
  int done = 0;
  for (const std::string& each : keys) {
    progress(done++, static_cast<int>(keys.size()));
    std::vector<const PredictedRow*> others;
    for (const PredictedRow& row : rows) {
      if (key(*row.row) != each) others.push_back(&row);
    }
    const auto constants = fit_constants(samples_of(others), hand_set(), FitOptions{});
    std::vector<PredictedRow> those;
    for (const PredictedRow& row : rows) {
      if (key(*row.row) == each) those.push_back(row);
    }
    predict_all(those, constants);
    left_out.insert(left_out.end(), those.begin(), those.end());
  }
  return left_out;
}

ErrorBand band_of(const std::vector<double>& measured_over_predicted) {
  if (measured_over_predicted.empty()) return {};
  std::vector<double> sorted = measured_over_predicted;
  std::sort(sorted.begin(), sorted.end());
  const auto at = [&](double share) {
    return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
  };
  return {at(0.1), at(0.9)};
}

double share_within(const std::vector<double>& measured_over_predicted, const ErrorBand& band) {
  const auto within =
      std::count_if(measured_over_predicted.begin(), measured_over_predicted.end(),
                    [&](double ratio) { return ratio >= band.low && ratio <= band.high; });
  return static_cast<double>(within) /
         static_cast<double>(std::max<size_t>(measured_over_predicted.size(), 1));
}

}  // namespace dure
