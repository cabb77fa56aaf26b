// See logit_rules.h.
#include "kernels/cpu/logit_rules.h"

#include <algorithm>
#include <limits>

namespace dure {
namespace {

constexpr float impossible = -std::numeric_limits<float>::infinity();

bool in_mask(std::span<const uint64_t> mask, size_t token) {
  return mask.empty() || (mask[token / 64] >> (token % 64) & 1) != 0;
}

void copy_allowed(std::span<const float> logits, const LogitRules& rules, std::span<float> out) {
  if (!rules.allowed.empty()) {
    std::fill(out.begin(), out.end(), impossible);
    for (const int32_t token : rules.allowed) {
      const auto at = static_cast<size_t>(token);
      if (in_mask(rules.mask, at)) out[at] = logits[at];
    }
    return;
  }
  std::copy(logits.begin(), logits.end(), out.begin());
  for (size_t word = 0; word < rules.mask.size(); ++word) {
    const uint64_t bits = rules.mask[word];
    if (bits == ~uint64_t{0}) continue;
    const size_t end = std::min(64 * word + 64, out.size());
    for (size_t token = 64 * word; token < end; ++token) {
      if ((bits >> (token % 64) & 1) == 0) out[token] = impossible;
    }
  }
}

}  // namespace

void apply_rules(std::span<const float> logits, const LogitRules& rules, std::span<float> out) {
  copy_allowed(logits, rules, out);
  for (const int32_t token : rules.forbidden) out[static_cast<size_t>(token)] = impossible;
  for (const TokenBias& each : rules.bias) out[static_cast<size_t>(each.token)] += each.bias;
  for (const SeenToken& seen : rules.seen) {
    float& logit = out[static_cast<size_t>(seen.token)];
    logit = logit > 0.0f ? logit / rules.repetition : logit * rules.repetition;
    logit -= rules.frequency * static_cast<float>(seen.produced);
    logit -= seen.produced > 0 ? rules.presence : 0.0f;
  }
}

}  // namespace dure
