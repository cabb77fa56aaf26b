#include "calibrate/fit_constants.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "calibrate/accuracy.h"
#include "model/load_spec.h"
#include "model/testing.h"

namespace dure {
namespace {

// Runs of an engine with known constants.
std::vector<FitSample> runs_with(const TimeConstants& truth, size_t group = 0) {
  const ModelSpec spec = load_spec(
      testing::source_path("testdata/configs/released/meta-llama--Meta-Llama-3.1-8B.json"));
  const Hardware h200 = {*find_gpu("h200").speed, 8, 50e9};
  std::vector<FitSample> samples;
  for (const int tp : {1, 4}) {
    const auto work = std::make_shared<StepWork>(work_of(spec, {tp, 1, 1, 1}, Numbers{}));
    for (const int concurrency : {1, 8, 64}) {
      for (const int64_t input : {256, 4096}) {
        const ClosedLoad load{concurrency, input, 64};
        const auto predict = [work, h200, load](const TimeConstants& constants) {
          return replay(*work, h200, constants, {}, load);
        };
        const ServedMeans means = predict(truth);
        samples.push_back({group, predict, means.ttft, means.tpot});
      }
    }
  }
  return samples;
}

double worst_error(const std::vector<FitSample>& samples, const TimeConstants& constants) {
  double worst = 0.0;
  for (const FitSample& sample : samples) {
    const ServedMeans means = sample.predict(constants);
    worst = std::max({worst, std::abs(std::log(means.ttft / sample.ttft)),
                      std::abs(std::log(means.tpot / sample.tpot))});
  }
  return worst;
}

TEST(FitConstants, ChangesNothingWhereNothingIsOff) {
  const auto fitted = fit_constants(runs_with(TimeConstants{}), {TimeConstants{}}, FitOptions{});
  for (const NamedConstant& constant : fitted_constants()) {
    EXPECT_NEAR(fitted[0].*constant.member, TimeConstants{}.*constant.member,
                1e-6 * TimeConstants{}.*constant.member)
        << constant.name;
  }
}

TEST(FitConstants, FindsSlowerMemoryAndDearerLaunches) {
  TimeConstants truth;
  truth.read = 0.55;
  truth.layer = 30e-6;
  truth.math = 0.45;
  const auto samples = runs_with(truth);
  const TimeConstants fitted = fit_constants(samples, {TimeConstants{}}, FitOptions{})[0];
  EXPECT_GT(worst_error(samples, TimeConstants{}), 0.2);
  EXPECT_LT(worst_error(samples, fitted), 0.05);
  EXPECT_NEAR(fitted.read, 0.55, 0.08);
}

// A run that nothing explains moves the constants little.
TEST(FitConstants, IsNotPulledByAnOutlier) {
  auto samples = runs_with(TimeConstants{});
  samples[3].tpot *= 20.0;
  samples[3].ttft *= 20.0;
  const TimeConstants fitted = fit_constants(samples, {TimeConstants{}}, FitOptions{})[0];
  samples.erase(samples.begin() + 3);
  EXPECT_LT(worst_error(samples, fitted), 0.08);
}

TEST(FitConstants, GivesAGroupWithoutRunsWhatTheOthersShare) {
  TimeConstants truth;
  truth.read = 0.55;
  const auto fitted =
      fit_constants(runs_with(truth), {TimeConstants{}, TimeConstants{}}, FitOptions{});
  EXPECT_LT(fitted[1].read, 0.65);
}

TEST(Accuracy, CountsMeansMediansAndBias) {
  const Errors errors = errors_of({-0.2, 0.1, 0.1, 0.4, -0.1});
  EXPECT_EQ(errors.rows, 5U);
  EXPECT_NEAR(errors.mean, 0.18, 1e-12);
  EXPECT_NEAR(errors.median, 0.1, 1e-12);
  EXPECT_NEAR(errors.bias, 0.1, 1e-12);
}

TEST(Accuracy, CorrelatesRanksWithTies) {
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4}, {10, 20, 30, 400}), 1.0);
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4}, {4, 3, 2, 1}), -1.0);
  EXPECT_DOUBLE_EQ(rank_correlation({1, 1, 1}, {1, 2, 3}), 0.0);
  EXPECT_NEAR(rank_correlation({1, 2, 2, 3}, {1, 2, 3, 4}), 0.9487, 1e-4);
}

TEST(Accuracy, BandsHoldTheMiddleFourFifths) {
  std::vector<double> ratios;
  for (int i = 0; i <= 100; ++i) ratios.push_back(0.5 + 0.01 * i);
  const ErrorBand band = band_of(ratios);
  EXPECT_NEAR(band.low, 0.6, 1e-9);
  EXPECT_NEAR(band.high, 1.4, 1e-9);
  EXPECT_NEAR(share_within(ratios, band), 0.8, 0.011);
}

TEST(Accuracy, RanksOnlyPairsThatDifferInLayoutAndByMoreThanTheGap) {
  std::vector<ServingRow> rows(4);
  std::vector<PredictedRow> predicted(4);
  const double measured[] = {0.020, 0.010, 0.0205, 0.010};
  const double said[] = {0.018, 0.011, 0.012, 0.012};
  for (size_t i = 0; i < 4; ++i) {
    rows[i].layout.tp = 1 << i;
    rows[i].tpot = measured[i];
    predicted[i].row = &rows[i];
    predicted[i].means.tpot = said[i];
  }
  rows[3].layout = rows[1].layout;  // one more run of the same layout
  // 0-1, 0-3, 1-2, 2-3 differ enough; 2-3 is a tie in what was said, so it is wrong.
  const PairRanks ranks = rank_layouts(predicted, 0.10);
  EXPECT_EQ(ranks.pairs, 4U);
  EXPECT_EQ(ranks.right, 3U);
}

}  // namespace
}  // namespace dure
