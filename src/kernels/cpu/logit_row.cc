// See logit_row.h. Inner loops keep a few independent maxima, which any compiler turns into vector
// instructions.
#include "kernels/cpu/logit_row.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace dure {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// NaN is passed over.
float largest_of(const float* x, int64_t count) {
  constexpr int64_t lanes = 16;
  float largest[lanes];
  std::fill(largest, largest + lanes, -infinity);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (int64_t j = 0; j < lanes; ++j) {
      largest[j] = x[i + j] > largest[j] ? x[i + j] : largest[j];
    }
  }
  for (; i < count; ++i) largest[0] = x[i] > largest[0] ? x[i] : largest[0];
  return *std::max_element(largest, largest + lanes);
}

bool has_nan(const float* x, int64_t count) {
  uint32_t found = 0;
  for (int64_t i = 0; i < count; ++i) {
    found |= (std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu) > 0x7f800000u ? 1u : 0u;
  }
  return found != 0;
}

}  // namespace

void LogitRow::look_at(std::span<const float> logits) {
  logits_ = logits;
  best_ = -1;
  block_largest_.resize(static_cast<size_t>((size() + block_size - 1) / block_size));
  float largest = -infinity;
  size_t where = 0;
  bool broken = false;
  for (size_t block = 0; block < blocks(); ++block) {
    const auto [begin, end] = range_of_block(block);
    const float* x = logits.data() + begin;
    broken = broken || has_nan(x, end - begin);
    block_largest_[block] = largest_of(x, end - begin);
    if (block_largest_[block] > largest) {
      largest = block_largest_[block];
      where = block;
    }
  }
  if (broken || largest == infinity || largest == -infinity) return;
  const auto [begin, end] = range_of_block(where);
  best_ = static_cast<int32_t>(std::find(logits.begin() + begin, logits.begin() + end, largest) -
                               logits.begin());
}

RankedLogit LogitRow::last_of_top(int64_t k) {
  // top_ holds the best found so far and up to as many that may be better; `bar` is the last of the
  // best.
  const auto kept = static_cast<size_t>(std::min(k, size()));
  const auto last = static_cast<int64_t>(kept) - 1;
  const size_t most = std::max<size_t>(2 * kept, 256);
  top_.clear();
  float bar = -infinity;
  const auto shrink = [&] {
    std::nth_element(top_.begin(), top_.begin() + last, top_.end(), ranks_above);
    top_.resize(kept);
    bar = top_.back().logit;  // what follows has higher ids: an equal one ranks lower
  };
  for (size_t block = 0; block < blocks(); ++block) {
    if (!(block_largest_[block] > bar)) continue;
    const auto [begin, end] = range_of_block(block);
    for (int64_t id = begin; id < end; ++id) {
      if (!((*this)[id] > bar)) continue;
      top_.push_back({(*this)[id], static_cast<int32_t>(id)});
      if (top_.size() == most) shrink();
    }
  }
  if (top_.size() > kept) shrink();
  return *std::max_element(top_.begin(), top_.end(), ranks_above);
}

std::vector<RankedLogit> LogitRow::down_to(const RankedLogit& last) const {
  std::vector<RankedLogit> found;
  for (size_t block = 0; block < blocks(); ++block) {
    if (block_largest_[block] < last.logit) continue;
    const auto [begin, end] = range_of_block(block);
    for (int64_t id = begin; id < end; ++id) {
      const RankedLogit one{(*this)[id], static_cast<int32_t>(id)};
      if (!ranks_above(last, one)) found.push_back(one);
    }
  }
  std::sort(found.begin(), found.end(), ranks_above);
  return found;
}

int32_t LogitRow::count_above(float logit) const {
  int32_t count = 0;
  for (const float each : logits_) count += each > logit ? 1 : 0;
  return count;
}

}  // namespace dure
