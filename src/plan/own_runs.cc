// See own_runs.h.
#include "plan/own_runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/csv.h"
#include "base/error.h"
#include "calibrate/accuracy.h"
#include "plan/search.h"
#include "plan/unmeasured.h"

namespace dure {
namespace {

constexpr size_t enough_for_bands = 10;
constexpr size_t most_folds = 10;           // a fit each
constexpr double least_time = 1e-3;         // milliseconds: sooner than any step
constexpr double most_time = 86'400'000;    // a day
constexpr int64_t most_in_flight = 16'384;  // a replay of each, some hundred times

int64_t count(const CsvRow& row, std::string_view column, int64_t most) {
  const int64_t value = row.integer(column);
  if (value < 1 || value > most) {
    row.refuse(column, fmt::format("{} is not from 1 to {}", value, most));
  }
  return value;
}

int size_or_one(const CsvRow& row, std::string_view column) {
  return row.optional_text(column) ? static_cast<int>(count(row, column, 16384)) : 1;
}

double milliseconds(const CsvRow& row, std::string_view column) {
  const double value = row.number(column);
  if (!(value > 0.0)) row.refuse(column, "a time must be above 0");
  if (value < least_time || value > most_time) {
    row.refuse(column, fmt::format("{} is not from {} to {} ms", value, least_time, most_time));
  }
  return value / 1e3;
}

// As the plan would deploy it.
Deployment deployment_as_run(const PlanModel& model, const PlanQuestion& question,
                             const OwnRun& run) {
  PlanQuestion asked = question;
  asked.gpus = run.layout.world() * run.replicas;
  asked.input = run.input;
  asked.output = run.output;
  asked.concurrency = run.concurrency;
  asked.rate = 0.0;
  RejectedLayout why;
  auto deployment =
      deployment_of(model, asked, run.layout, asked.kv_formats.front(), usual_chunk(asked), why);
  if (!deployment) {
    throw_bad_input(fmt::format("--calibrate, line {}: {} cannot have run so: {}", run.line,
                                to_string(run.layout), why.reason),
                    "a file holds runs of the model, GPU, weights and engine that are planned",
                    "calibrate");
  }
  deployment->replicas = run.replicas;
  return *deployment;
}

std::vector<FitSample> samples_of(const PlanModel& model, const PlanQuestion& question,
                                  const std::vector<OwnRun>& runs) {
  std::vector<FitSample> samples;
  samples.reserve(runs.size());
  for (const OwnRun& run : runs) {
    const Deployment deployment = deployment_as_run(model, question, run);
    const PlannedLoad load{run.input, run.output, run.concurrency};
    const ServingProfile engine = model.engine;
    samples.push_back({0,
                       [deployment, load, engine](const TimeConstants& constants) {
                         ServingProfile tried = engine;
                         tried.constants = constants;
                         const Service service = serve(deployment, tried, load);
                         return ServedMeans{service.ttft, service.tpot, service.tokens_per_s};
                       },
                       run.ttft, run.tpot});
  }
  return samples;
}

struct Misses {
  std::vector<double> ttft;  // predicted over measured, less 1
  std::vector<double> tpot;

  void add(const FitSample& sample, const TimeConstants& constants) {
    const ServedMeans means = sample.predict(constants);
    ttft.push_back(means.ttft / sample.ttft - 1.0);
    tpot.push_back(means.tpot / sample.tpot - 1.0);
  }
  std::string in_words() const {
    return fmt::format("TPOT {:.1f}% and TTFT {:.1f}%", 100.0 * errors_of(tpot).mean,
                       100.0 * errors_of(ttft).mean);
  }
};

std::vector<double> measured_over_predicted(const std::vector<double>& misses) {
  std::vector<double> ratios;
  ratios.reserve(misses.size());
  for (const double miss : misses) ratios.push_back(1.0 / (1.0 + miss));
  return ratios;
}

// Of one model, GPU, engine and format, which are also the plan's.
MeasuredRange range_of(const PlanModel& model, const PlanQuestion& question,
                       const std::vector<OwnRun>& runs) {
  MeasuredRange range;
  range.gpus = {question.gpu.name};
  range.weights = {weights_of(model, question)};
  range.whole_attention = false;
  range.input = range.output = range.in_flight = 0;
  for (const OwnRun& run : runs) {
    const Deployment deployment = deployment_as_run(model, question, run);
    const int64_t groups = deployment.groups();
    range.stages = std::max(range.stages, run.layout.pp);
    range.nodes = std::max(range.nodes, deployment.placement.nodes_each);
    range.input = std::max(range.input, run.input);
    range.output = std::max(range.output, run.output);
    range.in_flight = std::max(range.in_flight, (run.concurrency + groups - 1) / groups);
  }
  return range;
}

}  // namespace

std::vector<OwnRun> read_own_runs(const std::filesystem::path& file) {
  const CsvTable table = read_csv_file(file);
  std::vector<OwnRun> runs;
  for (const CsvRow& row : table.rows()) {
    OwnRun run;
    run.line = row.line();
    run.layout = {size_or_one(row, "tp"), size_or_one(row, "pp"), size_or_one(row, "dp"),
                  size_or_one(row, "ep")};
    check_layout(run.layout);
    run.replicas = size_or_one(row, "replicas");
    run.input = count(row, "input", 10'000'000);
    run.output = count(row, "output", 10'000'000);
    run.concurrency = count(row, "concurrency", most_in_flight);
    run.ttft = milliseconds(row, "ttft_ms");
    run.tpot = milliseconds(row, "tpot_ms");
    runs.push_back(run);
  }
  if (runs.empty()) {
    throw_bad_input(fmt::format("{}: holds no run", file.string()),
                    "a header tp,input,output,concurrency,ttft_ms,tpot_ms and a line for each run",
                    "calibrate");
  }
  return runs;
}

Calibration calibrate(const PlanModel& model, const PlanQuestion& question,
                      const std::vector<OwnRun>& runs) {
  const std::vector<FitSample> samples = samples_of(model, question, runs);
  const std::vector<TimeConstants> start = {model.engine.constants};
  Calibration result{model.engine, ""};
  result.profile.constants = fit_constants(samples, start, FitOptions{}).front();
  Misses before;
  Misses after;
  Misses left_out;
  for (const FitSample& sample : samples) {
    before.add(sample, start.front());
    after.add(sample, result.profile.constants);
  }
  const size_t folds = samples.size() < 2 ? 0 : std::min(samples.size(), most_folds);
  for (size_t fold = 0; fold < folds; ++fold) {
    std::vector<FitSample> others;
    for (size_t i = 0; i < samples.size(); ++i) {
      if (i % folds != fold) others.push_back(samples[i]);
    }
    const TimeConstants constants = fit_constants(others, start, FitOptions{}).front();
    for (size_t i = fold; i < samples.size(); i += folds) left_out.add(samples[i], constants);
  }
  result.says = fmt::format("constants: fitted to {} runs of your own, {} off before, {} after",
                            runs.size(), before.in_words(), after.in_words());
  if (samples.size() >= 2) {
    result.says += fmt::format(", {} for runs that were left out", left_out.in_words());
  }
  if (samples.size() >= enough_for_bands) {
    result.profile.ttft = band_of(measured_over_predicted(left_out.ttft));
    result.profile.tpot = band_of(measured_over_predicted(left_out.tpot));
    result.profile.measured = range_of(model, question, runs);
  }
  return result;
}

}  // namespace dure
