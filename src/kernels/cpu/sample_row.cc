// See sample_row.h, and kernels/sample.h for what is computed.
#include "kernels/cpu/sample_row.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/logit_rules.h"
#include "kernels/philox.h"

namespace dure {
namespace {

constexpr float greedy_below = 1e-5f;
// min_p compares with this much slack (relative), so that the rounding of fp32 logits does not
// decide for a token that lies exactly on the border: .06 of .6 has min_p 0.1.
constexpr double min_p_slack = 1e-5;

int32_t draw(const SampleSpec& spec, uint64_t position, ExpRow exp, LogitRow& row,
             TokenWeights& weights) {
  std::optional<RankedLogit> last;
  if (spec.top_k > 0 && spec.top_k < row.size()) last = row.last_of_top(spec.top_k);
  weights.weigh(row, spec.temperature, exp, last);
  if (spec.min_p > 0.0f) {
    const double least = std::min(1.0, static_cast<double>(spec.min_p));
    weights.drop_lighter_than(least * (1.0 - min_p_slack));
  }
  if (spec.top_p < 1.0f) {
    weights.drop_below(weights.last_of_mass(static_cast<double>(spec.top_p) * weights.sum()));
  }
  return weights.at_cumulative(philox_uniform(spec.seed, position) * weights.sum());
}

int32_t choose(const SampleRow& row, std::span<const float> logits, ExpRow exp,
               SampleScratch& scratch) {
  if (!row.rules.empty()) {
    scratch.ruled_logits.resize(logits.size());
    apply_rules(logits, row.rules, scratch.ruled_logits);
    logits = scratch.ruled_logits;
  }
  scratch.ruled.look_at(logits);
  const int32_t best = scratch.ruled.best();
  if (best < 0 || row.spec.temperature < greedy_below) return best;
  return draw(row.spec, row.position, exp, scratch.ruled, scratch.weights);
}

void tell_logprobs(int32_t alternatives, ExpRow exp, LogitRow& raw, TokenWeights& weights,
                   SampledRow& result) {
  weights.weigh(raw, 1.0f, exp);
  const double log_sum = std::log(weights.sum());
  const auto logprob = [&](float logit) {
    return static_cast<float>(static_cast<double>(logit) - raw.largest() - log_sum);
  };
  const float own = raw[result.token];
  result.logprob = logprob(own);
  result.rank = 1 + raw.count_above(own);
  if (alternatives == 0) return;
  for (const RankedLogit& each : raw.down_to(raw.last_of_top(alternatives))) {
    result.top.push_back({each.id, logprob(each.logit)});
  }
}

}  // namespace

SampledRow sample_row(const SampleRow& row, int64_t vocab, ExpRow exp, SampleScratch& scratch) {
  const std::span<const float> logits(row.logits, static_cast<size_t>(vocab));
  SampledRow result;
  result.token = row.given >= 0 ? row.given : choose(row, logits, exp, scratch);
  const bool ruled_out = result.token < 0 && !row.rules.empty();
  if (row.logprobs < 0 && !ruled_out) return result;
  const bool known = row.given < 0 && row.rules.empty();  // choose() has looked at the same
  LogitRow& raw = known ? scratch.ruled : scratch.raw;
  if (!known) raw.look_at(logits);
  if (raw.best() < 0) {
    result.token = no_distribution;
  } else if (ruled_out) {
    result.token = nothing_allowed;
  } else {
    tell_logprobs(row.logprobs, exp, raw, scratch.weights, result);
  }
  return result;
}

}  // namespace dure
