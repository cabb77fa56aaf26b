// See token_weights.h. Inner loops over a block are such that any compiler makes vector
// instructions of them; sums have a fixed order.
#include "kernels/cpu/token_weights.h"

#include <algorithm>

namespace dure {
namespace {

// last_of_mass() first sorts tokens into buckets of a 16th in ln(weight), down to e^-104, below
// which weights are 0.
constexpr int32_t buckets_per_unit = 16;
constexpr int32_t buckets = 104 * buckets_per_unit + 2;

double sum_of(const float* x, int64_t count) {
  double sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int64_t j = 0; j < 8; ++j) sums[j] += static_cast<double>(x[i + j]);
  }
  for (; i < count; ++i) sums[0] += static_cast<double>(x[i]);
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

}  // namespace

void TokenWeights::weigh(const LogitRow& row, float temperature, ExpRow exp,
                         const std::optional<RankedLogit>& last) {
  row_ = &row;
  temperature_ = temperature;
  weights_.resize(static_cast<size_t>(row.size()));
  block_sum_.resize(row.blocks());
  const auto top = static_cast<double>(row.largest());
  const double factor = 1.0 / static_cast<double>(temperature);
  for (size_t block = 0; block < block_sum_.size(); ++block) {
    if (last && row.largest_of_block(block) < last->logit) {
      drop_block(block);
      continue;
    }
    const auto [begin, end] = row.range_of_block(block);
    const float* logits = row.logits().data();
    float* weights = weights_.data();
    for (int64_t id = begin; id < end; ++id) {
      weights[id] = static_cast<float>((static_cast<double>(logits[id]) - top) * factor);
    }
    exp(weights + begin, end - begin, weights + begin);
    add_up(block);
  }
  if (last) drop_below(*last);
}

void TokenWeights::drop_block(size_t block) {
  const auto [begin, end] = row_->range_of_block(block);
  std::fill(weights_.begin() + begin, weights_.begin() + end, 0.0f);
  block_sum_[block] = 0.0;
}

void TokenWeights::add_up(size_t block) {
  const auto [begin, end] = row_->range_of_block(block);
  block_sum_[block] = sum_of(weights_.data() + begin, end - begin);
}

double TokenWeights::sum() const {
  double sum = 0.0;
  for (const double part : block_sum_) sum += part;
  return sum;
}

void TokenWeights::drop_lighter_than(double least) {
  for (size_t block = 0; block < block_sum_.size(); ++block) {
    if (block_sum_[block] == 0.0) continue;
    const auto [begin, end] = row_->range_of_block(block);
    for (int64_t id = begin; id < end; ++id) {
      float& weight = weights_[static_cast<size_t>(id)];
      weight = static_cast<double>(weight) < least ? 0.0f : weight;
    }
    add_up(block);
  }
}

void TokenWeights::drop_below(const RankedLogit& last) {
  const float* logits = row_->logits().data();
  for (size_t block = 0; block < block_sum_.size(); ++block) {
    if (block_sum_[block] == 0.0) continue;
    if (row_->largest_of_block(block) < last.logit) {
      drop_block(block);
      continue;
    }
    const auto [begin, end] = row_->range_of_block(block);
    const int64_t middle = std::clamp<int64_t>(last.id + 1, begin, end);
    float* weights = weights_.data();
    for (int64_t id = begin; id < middle; ++id) {
      weights[id] = logits[id] < last.logit ? 0.0f : weights[id];
    }
    for (int64_t id = middle; id < end; ++id) {
      weights[id] = logits[id] <= last.logit ? 0.0f : weights[id];
    }
    add_up(block);
  }
}

// Calls use(id, bucket) for tokens of that weight or more.
template <class Use>
void TokenWeights::each_bucketed(float least, const Use& use) const {
  const float top = row_->largest();
  const float factor = static_cast<float>(buckets_per_unit) / temperature_;
  const float* logits = row_->logits().data();
  int32_t bucket[LogitRow::block_size];
  for (size_t block = 0; block < block_sum_.size(); ++block) {
    if (block_sum_[block] < static_cast<double>(least)) continue;
    const auto [begin, end] = row_->range_of_block(block);
    for (int64_t id = begin; id < end; ++id) {
      const float below = (top - logits[id]) * factor;
      constexpr auto last = static_cast<float>(buckets - 1);
      bucket[id - begin] = static_cast<int32_t>(below < last ? below : last);
    }
    for (int64_t id = begin; id < end; ++id) {
      if (weights_[static_cast<size_t>(id)] >= least) use(id, bucket[id - begin]);
    }
  }
}

RankedLogit TokenWeights::last_of_mass(double mass) {
  // Tokens that weigh less than an even share of what lies beyond the mass weigh less than that
  // together: they lie beyond it.
  constexpr double certainly = 0.999;
  const auto least =
      static_cast<float>(certainly * (sum() - mass) / static_cast<double>(row_->size()));
  bucket_sum_.assign(buckets, 0.0);
  each_bucketed(least, [&](int64_t id, int32_t bucket) {
    bucket_sum_[static_cast<size_t>(bucket)] += weights_[static_cast<size_t>(id)];
  });
  size_t border = 0;
  double above = 0.0;  // weight of the buckets before
  while (above + bucket_sum_[border] < mass && border + 1 < bucket_sum_.size()) {
    above += bucket_sum_[border++];
  }
  candidates_.clear();
  each_bucketed(least, [&](int64_t id, int32_t bucket) {
    if (static_cast<size_t>(bucket) != border) return;
    candidates_.push_back(
        {{(*row_)[id], static_cast<int32_t>(id)}, weights_[static_cast<size_t>(id)]});
  });
  return last_within(candidates_, mass - above);
}

// The last one, by rank, above which less than `mass` of weight lies; the first one if there is no
// such. Halves the range in which it lies, so the whole takes linear time.
RankedLogit TokenWeights::last_within(std::vector<Candidate>& candidates, double mass) {
  const auto rank = [](const Candidate& a, const Candidate& b) {
    return ranks_above(a.ranked, b.ranked);
  };
  Candidate* low = candidates.data();  // the answer is here or later
  Candidate* high = low + candidates.size();
  double above = 0.0;  // weight before `low`
  while (high - low > 1) {
    Candidate* const middle = low + (high - low) / 2;
    std::nth_element(low, middle, high, rank);
    double upper = 0.0;
    for (const Candidate* each = low; each != middle; ++each) upper += each->weight;
    if (above + upper < mass) {
      above += upper;
      low = middle;
    } else {
      high = middle;
    }
  }
  return low->ranked;
}

int32_t TokenWeights::at_cumulative(double target) const {
  double below = 0.0;
  size_t block = 0;
  size_t last_weighted = 0;  // where the target is if rounding put it beyond the sum
  for (; block < block_sum_.size(); ++block) {
    if (block_sum_[block] > 0.0) last_weighted = block;
    if (below + block_sum_[block] > target) break;
    below += block_sum_[block];
  }
  if (block == block_sum_.size()) block = last_weighted;
  const auto [begin, end] = row_->range_of_block(block);
  int64_t found = begin;
  for (int64_t id = begin; id < end; ++id) {
    const auto weight = static_cast<double>(weights_[static_cast<size_t>(id)]);
    if (weight > 0.0) found = id;
    below += weight;
    if (below > target) break;
  }
  return static_cast<int32_t>(found);
}

}  // namespace dure
