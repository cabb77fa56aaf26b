// How far predictions are from what was measured: errors, ranks, bands; and predictions for rows
// whose model or system the constants have not seen.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibrate/fit_constants.h"
#include "calibrate/measured_run.h"
#include "simulate/serving_profile.h"

namespace dure {

struct PredictedRow {
  const ServingRow* row = nullptr;
  MeasuredRun run;
  ServedMeans means;  // seconds

  double tpot_error() const { return means.tpot / row->tpot - 1.0; }
  double ttft_error() const { return means.ttft / row->ttft - 1.0; }
};

struct Errors {
  size_t rows = 0;
  double mean = 0.0;  // absolute, relative: 0.1 = 10%
  double median = 0.0;
  double bias = 0.0;  // the median of the signed ones
};
Errors errors_of(const std::vector<double>& relative);

// Spearman's, of predicted and measured; 0 for fewer than 3 rows.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

// Of pairs that differ in nothing but the layout and whose measured TPOT differs by more than
// `gap`: how many there are, and how many are predicted in the right order.
struct PairRanks {
  size_t pairs = 0;
  size_t right = 0;
};
PairRanks rank_layouts(const std::vector<PredictedRow>& rows, double gap);

// Constants by engine, in the order of `engines`.
const std::vector<Engine>& fitted_engines();
std::vector<TimeConstants> fit_to(const std::vector<PredictedRow>& rows,
                                  const std::function<void(int done, int of)>& progress);
void predict_all(std::vector<PredictedRow>& rows, const std::vector<TimeConstants>& constants);

// Every row predicted by constants that were fitted, from hand-set ones, on the rows with another
// key. Empty where there is only one key.
std::vector<PredictedRow> predict_left_out(const std::vector<PredictedRow>& rows,
                                           const std::function<std::string(const ServingRow&)>& key,
                                           const std::function<void(int done, int of)>& progress);

// Between which multiples of what is predicted the middle 80% of measured values lie.
ErrorBand band_of(const std::vector<double>& measured_over_predicted);
double share_within(const std::vector<double>& measured_over_predicted, const ErrorBand& band);

}  // namespace dure
