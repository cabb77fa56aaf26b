// Counts of values by size, as Prometheus' histograms are told.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace dure {

class Histogram {
 public:
  // Upper bounds, included, ascending; a last one without end is added.
  explicit Histogram(std::span<const double> bounds)
      : bounds_(bounds), counts_(bounds.size() + 1, 0) {}

  void add(double value) {
    const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value);
    ++counts_[static_cast<size_t>(bucket - bounds_.begin())];
    sum_ += value;
  }

  std::span<const double> bounds() const { return bounds_; }
  const std::vector<int64_t>& counts() const { return counts_; }  // of each bucket by itself
  double sum() const { return sum_; }

 private:
  std::span<const double> bounds_;  // of static life
  std::vector<int64_t> counts_;
  double sum_ = 0.0;
};

}  // namespace dure
