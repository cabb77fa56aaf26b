// See sample.h.
#include "kernels/sample.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/philox.h"

namespace dure {
namespace {

constexpr float greedy_below = 1e-5f;
// exp(-64) of the largest probability: a million such tokens together weigh less than the rounding
// of the sum.
constexpr double negligible = -64.0;
// min_p compares with this much slack (relative), so that the rounding of fp32 logits does not
// decide for a token that lies exactly on the border: .06 of .6 has min_p 0.1.
constexpr double border = 1e-5;

struct Candidate {
  float logit;
  int32_t id;
  double weight;  // probability over the largest one
};

bool ranks_above(const Candidate& a, const Candidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

// Id of the largest logit, -1 if the row is no distribution.
int32_t argmax(std::span<const float> logits) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  float largest = -infinity;
  bool ordered = true;  // no NaN
  for (const float logit : logits) {
    largest = logit > largest ? logit : largest;
    ordered &= logit == logit;
  }
  if (!ordered || largest == infinity || largest == -infinity) return -1;
  return static_cast<int32_t>(std::find(logits.begin(), logits.end(), largest) - logits.begin());
}

// Drops all but the k that rank highest; the rest stay in any order.
void keep_top_k(std::vector<Candidate>& all, size_t k) {
  if (k >= all.size()) return;
  std::nth_element(all.begin(), all.begin() + static_cast<int64_t>(k), all.end(), ranks_above);
  all.resize(k);
}

double sum_weights(const Candidate* begin, const Candidate* end) {
  double sum = 0.0;
  for (; begin != end; ++begin) sum += begin->weight;
  return sum;
}

// Keeps every candidate that less than `mass` of weight ranks above: halves the range in which the
// border lies, so the whole takes linear time.
void keep_mass(std::vector<Candidate>& all, double mass) {
  Candidate* const begin = all.data();
  Candidate* low = begin;                // everything before is kept
  Candidate* high = begin + all.size();  // everything from here on is dropped
  double above = 0.0;                    // weight before `low`
  while (high - low > 1) {
    Candidate* const middle = low + (high - low) / 2;
    std::nth_element(low, middle, high, ranks_above);
    const double upper = sum_weights(low, middle);
    if (above + upper < mass) {
      above += upper;
      low = middle;
    } else {
      high = middle;
    }
  }
  // One candidate is left: it stays if the weight above it has not reached the mass.
  const bool stays = low == begin || above < mass;
  all.resize(static_cast<size_t>(low - begin) + (stays ? 1 : 0));
}

int32_t draw(const std::vector<Candidate>& all, double uniform) {
  const double target = uniform * sum_weights(all.data(), all.data() + all.size());
  double cumulative = 0.0;
  for (const Candidate& candidate : all) {
    cumulative += candidate.weight;
    if (cumulative > target) return candidate.id;
  }
  return all.back().id;  // the product rounded up to the sum
}

}  // namespace

int32_t sample(std::span<const float> logits, const SampleSpec& spec, uint64_t position) {
  const int32_t best = argmax(logits);
  if (best < 0 || spec.temperature < greedy_below) return best;
  const float largest = logits[static_cast<size_t>(best)];
  const size_t vocabulary = logits.size();
  const size_t top_k = spec.top_k > 0 ? static_cast<size_t>(spec.top_k) : vocabulary;

  std::vector<Candidate> kept;
  kept.reserve(vocabulary);
  const double cut = largest + negligible * static_cast<double>(spec.temperature);
  for (size_t i = 0; i < vocabulary; ++i)
    if (logits[i] >= cut && logits[i] != -std::numeric_limits<float>::infinity())
      kept.push_back({logits[i], static_cast<int32_t>(i), 0.0});
  const bool reordered = top_k < kept.size() || spec.top_p < 1.0f;
  keep_top_k(kept, top_k);
  for (Candidate& candidate : kept) {
    candidate.weight =
        std::exp((static_cast<double>(candidate.logit) - largest) / spec.temperature);
  }
  if (spec.top_p < 1.0f)
    keep_mass(kept, spec.top_p * sum_weights(kept.data(), kept.data() + kept.size()));
  if (spec.min_p > 0.0f) {
    const double least = std::min(1.0, static_cast<double>(spec.min_p)) * (1.0 - border);
    std::erase_if(kept, [&](const Candidate& c) { return c.weight < least; });
  }
  if (reordered)
    std::sort(kept.begin(), kept.end(),
              [](const Candidate& a, const Candidate& b) { return a.id < b.id; });
  return draw(kept, philox_uniform(spec.seed, position));
}

}  // namespace dure
