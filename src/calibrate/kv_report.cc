// kv_report of kv_rows.h.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "calibrate/kv_rows.h"

namespace dure {
namespace {

struct Errors {
  std::vector<double> relative;

  double mean() const {
    double sum = 0.0;
    for (const double each : relative) sum += std::abs(each);
    return relative.empty() ? 0.0 : sum / static_cast<double>(relative.size());
  }
  double median() const {
    if (relative.empty()) return 0.0;
    std::vector<double> sizes;
    for (const double each : relative) sizes.push_back(std::abs(each));
    std::sort(sizes.begin(), sizes.end());
    const size_t half = sizes.size() / 2;
    return sizes.size() % 2 == 1 ? sizes[half] : (sizes[half - 1] + sizes[half]) / 2;
  }
  double bias() const {
    double sum = 0.0;
    for (const double each : relative) sum += each;
    return relative.empty() ? 0.0 : sum / static_cast<double>(relative.size());
  }
};

std::string percent(double part) {
  return fmt::format("{:.2f}%", part * 100);
}

std::string optional_gib(const std::optional<double>& size) {
  return size ? fmt::format("{:.2f}", *size) : "–";
}

std::string line_of(const KvResult& result) {
  const KvRow& row = result.row;
  const std::string name =
      fmt::format("line {}: {} {} {} on {}, {}, weights {}, cache {}", row.line, row.engine,
                  row.version.empty() ? "(no version)" : row.version, row.model, row.gpu,
                  to_string(row.layout), row.dtype, row.kv_dtype);
  if (!result.problem.empty()) return fmt::format("FAILED {}: {}\n", name, result.problem);
  if (!result.error) {
    return fmt::format("FAILED {}: the row states neither tokens nor a pool\n", name);
  }
  const std::string figures = fmt::format(
      "weights {:.2f} GiB ({} measured), pool {:.2f} ({}), tokens {} ({})", result.weights_gib,
      optional_gib(row.weights_gib), result.pool_gib, optional_gib(row.pool_gib), result.tokens,
      row.tokens ? std::to_string(*row.tokens) : "–");
  return fmt::format("{} {}: {}: {}, error {:+.2f}% of {}, bar {:.0f}%\n",
                     result.passed() ? "passed" : "FAILED", name, result.overheads, figures,
                     *result.error * 100, row.tokens ? "tokens" : "pool",
                     kv_bar(result.kind) * 100);
}

std::string bar_line(std::string_view name, const Errors& errors, double bar) {
  if (errors.relative.empty()) return fmt::format("bar {}: no rows\n", name);
  return fmt::format("bar {}: mean absolute error {} of {} rows, at most {}: {}\n", name,
                     percent(errors.mean()), errors.relative.size(), percent(bar),
                     errors.mean() <= bar ? "held" : "MISSED");
}

}  // namespace

std::string kv_report(const std::vector<KvResult>& results) {
  std::string text;
  std::map<std::string, Errors> groups;  // engine × class
  Errors plain;                          // of tokens: dense and MLA
  Errors all;
  size_t unsaid = 0;
  for (const KvResult& result : results) {
    text += line_of(result);
    if (!result.error) {
      ++unsaid;
      continue;
    }
    const std::string what = result.row.tokens ? "tokens" : "pool alone";
    groups[fmt::format("{:8} {:10} {}", result.row.engine, to_string(result.kind), what)]
        .relative.push_back(*result.error);
    if (!result.row.tokens) continue;
    all.relative.push_back(*result.error);
    if (kv_bar(result.kind) < 0.05) plain.relative.push_back(*result.error);
  }
  text += fmt::format("\n{:32} {:>5} {:>9} {:>9} {:>9}\n", "engine   class      of", "rows", "mean",
                      "median", "bias");
  for (const auto& [name, errors] : groups) {
    text += fmt::format("{:32} {:>5} {:>9} {:>9} {:>9}\n", name, errors.relative.size(),
                        percent(errors.mean()), percent(errors.median()), percent(errors.bias()));
  }
  text += bar_line("KV tokens, dense and MLA", plain, 0.02);
  text += bar_line("KV tokens, all", all, 0.05);
  if (unsaid > 0) text += fmt::format("{} rows could not be predicted; they failed\n", unsaid);
  return text;
}

}  // namespace dure
