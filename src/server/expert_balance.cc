// See expert_balance.h.
#include "server/expert_balance.h"

#include <algorithm>
#include <numeric>

namespace dure {
namespace {

// 0 where nothing was computed.
double ratio_of(const std::vector<int64_t>& loads) {
  const int64_t sum = std::accumulate(loads.begin(), loads.end(), int64_t{0});
  if (sum <= 0) return 0.0;
  const int64_t most = *std::max_element(loads.begin(), loads.end());
  return static_cast<double>(most) * static_cast<double>(loads.size()) / static_cast<double>(sum);
}

}  // namespace

void ExpertBalance::heard(const GroupStats& totals, Time now) {
  if (now - begun_ >= window) {
    before_ = window_begin_;
    window_begin_ = now_;
    begun_ = now;
  }
  now_.clear();
  for (const RankStats& rank : totals.ranks) {
    for (const ExpertLoad& load : rank.experts) {
      now_[load.layer].push_back(
          std::accumulate(load.tokens.begin(), load.tokens.end(), int64_t{0}));
    }
  }
}

std::vector<ExpertBalance::Ratio> ExpertBalance::ratios() const {
  std::vector<Ratio> ratios;
  for (const auto& [layer, loads] : now_) {
    std::vector<int64_t> recent = loads;
    const auto before = before_.find(layer);
    if (before != before_.end() && before->second.size() == recent.size()) {
      for (size_t i = 0; i < recent.size(); ++i) recent[i] -= before->second[i];
    }
    double ratio = ratio_of(recent);
    if (ratio == 0.0) ratio = ratio_of(loads);
    ratios.push_back({layer, ratio == 0.0 ? 1.0 : ratio});
  }
  return ratios;
}

}  // namespace dure
