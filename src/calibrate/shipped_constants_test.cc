// The constants that ship, on the runs that ship: what the planner promises of runs it was fitted
// on. Runs that it has not seen are planner_accuracy's, which refits for minutes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "calibrate/accuracy.h"
#include "calibrate/serving_report.h"
#include "model/load_spec.h"
#include "model/testing.h"

namespace dure {
namespace {

ConfigFinder shipped_configs() {
  return ConfigFinder({testing::source_path("testdata/configs/released"),
                       testing::source_path("testdata/configs/measured")});
}

std::vector<ServingRow> shipped_rows() {
  return read_serving_rows(testing::source_path("testdata/measured/serving_measurements.csv"),
                           testing::source_path("testdata/measured/serving_annotations.csv"));
}

TEST(ShippedConstants, AreAsCloseToMeasuredRunsAsPromised) {
  const auto rows = shipped_rows();
  ASSERT_EQ(rows.size(), 1220U);
  const ConfigFinder configs = shipped_configs();
  std::map<std::string, ModelSpec> specs;
  std::vector<double> tpot;
  std::vector<double> ttft;
  for (const ServingRow& row : rows) {
    ASSERT_EQ(row.problem, "") << row.id;
    if (!specs.contains(row.model)) specs[row.model] = load_spec(*configs.find(row.model));
    const ServedMeans means =
        predict(measured_run(row, specs[row.model]), serving_profile(row.engine).constants);
    tpot.push_back(means.tpot / row.tpot - 1.0);
    ttft.push_back(means.ttft / row.ttft - 1.0);
  }
  EXPECT_LE(errors_of(tpot).mean, 0.12);
  EXPECT_LE(errors_of(tpot).median, 0.08);
  EXPECT_LE(errors_of(ttft).mean, 0.25);
  EXPECT_LE(errors_of(ttft).median, 0.18);
}

// What a plan is told to lie outside of is what the rows span, no more and no less.
TEST(ShippedConstants, NameTheRangeOfTheRunsThatShip) {
  const MeasuredRange range = serving_profile(Engine::vllm).measured;
  MeasuredRange rows;
  rows.input = rows.output = rows.in_flight = 0;
  for (const ServingRow& row : shipped_rows()) {
    rows.input = std::max(rows.input, row.input);
    rows.output = std::max(rows.output, row.output);
    if (!row.decode) rows.in_flight = std::max(rows.in_flight, row.concurrency);
    EXPECT_LE(row.layout.pp, range.stages) << row.id;
    EXPECT_LE(row.layout.world(), 8) << row.id;
    const std::string gpu = row.system.substr(0, row.system.find('_'));
    EXPECT_NE(std::find(range.gpus.begin(), range.gpus.end(), gpu), range.gpus.end()) << gpu;
  }
  EXPECT_EQ(rows.input, range.input);
  EXPECT_EQ(rows.output, range.output);
  EXPECT_EQ(rows.in_flight, range.in_flight);
}

TEST(ServingCheck, PredictsEveryRowAndSaysSo) {
  const auto rows = shipped_rows();
  const ServingCheck check = check_serving(rows, shipped_configs(), {.leave_out = false});
  EXPECT_GE(check.passed, 1220);
  EXPECT_NE(check.text.find("1220 rows: 1220 predicted"), std::string::npos);
}

TEST(ServingCheck, CountsARowOfAnUnknownModelAsFailed) {
  std::vector<ServingRow> rows = {shipped_rows().front()};
  rows[0].model = "nobody/Unknown-7B";
  const ServingCheck check = check_serving(rows, shipped_configs(), {.leave_out = false});
  EXPECT_EQ(check.failed, 1);
  EXPECT_NE(check.text.find("no config.json for nobody/Unknown-7B"), std::string::npos);
}

}  // namespace
}  // namespace dure
