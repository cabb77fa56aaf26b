// See metrics_text.h.
#include "server/metrics_text.h"

#include <fmt/format.h>

#include <cmath>

namespace dure {
namespace {

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

}  // namespace

std::string label(std::string_view key, std::string_view value) {
  std::string text = fmt::format("{}=\"", key);
  for (const char letter : value) {
    if (letter == '\n') {
      text += "\\n";
      continue;
    }
    if (letter == '"' || letter == '\\') text += '\\';
    text += letter;
  }
  return text + '"';
}

void MetricsText::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void MetricsText::labels_of(std::string_view more, std::string_view last) {
  text_ += '{';
  bool first = true;
  for (const std::string_view each : {std::string_view(labels_), more, last}) {
    if (each.empty()) continue;
    if (!first) text_ += ',';
    first = false;
    text_ += each;
  }
  text_ += "} ";
}

void MetricsText::sample(std::string_view more, double value) {
  text_ += name_;
  labels_of(more);
  text_ += number(value) + '\n';
}

void MetricsText::sample(std::string_view more, int64_t value) {
  text_ += name_;
  labels_of(more);
  text_ += fmt::format("{}\n", value);
}

void MetricsText::histogram(std::string_view more, const Histogram& values) {
  int64_t sum = 0;
  for (size_t i = 0; i < values.counts().size(); ++i) {
    sum += values.counts()[i];
    const std::string bound =
        i < values.bounds().size() ? fmt::format("{}", values.bounds()[i]) : "+Inf";
    text_ += name_ + "_bucket";
    labels_of(more, label("le", bound));
    text_ += fmt::format("{}\n", sum);
  }
  text_ += name_ + "_sum";
  labels_of(more);
  text_ += number(values.sum()) + '\n';
  text_ += name_ + "_count";
  labels_of(more);
  text_ += fmt::format("{}\n", sum);
}

}  // namespace dure
