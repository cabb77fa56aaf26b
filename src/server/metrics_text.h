// Prometheus' text format 0.0.4, as /metrics is written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/histogram.h"

namespace dure {

class MetricsText {
 public:
  // `labels`: of every sample, such as model_name="demo".
  explicit MetricsText(std::string labels) : labels_(std::move(labels)) {}

  // Samples follow; `more` are labels of their own, such as rank="3".
  void family(std::string_view name, std::string_view type, std::string_view help);
  void sample(std::string_view more, double value);
  void sample(std::string_view more, int64_t value);
  // A family of one sample.
  void single(std::string_view name, std::string_view type, std::string_view help, auto value) {
    family(name, type, help);
    sample("", value);
  }
  // Of a family of the type "histogram".
  void histogram(std::string_view more, const Histogram& values);
  void single_histogram(std::string_view name, std::string_view help, const Histogram& values) {
    family(name, "histogram", help);
    histogram("", values);
  }

  std::string take() { return std::move(text_); }

 private:
  // "{a="1",b="2"} "
  void labels_of(std::string_view more, std::string_view last = "");

  std::string labels_;
  std::string name_;
  std::string text_;
};

// key="value", with what the format reserves escaped.
std::string label(std::string_view key, std::string_view value);

}  // namespace dure
