// One row of logits: its largest and its largest k, in blocks, so that what is far below is passed
// over. Shared by all CPU backends.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dure {

struct RankedLogit {
  float logit = 0.0f;
  int32_t id = 0;
};

inline bool ranks_above(const RankedLogit& a, const RankedLogit& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

class LogitRow {
 public:
  static constexpr int64_t block_size = 1024;
  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
  };

  // `logits` must stay as they are while the row is used.
  void look_at(std::span<const float> logits);

  std::span<const float> logits() const { return logits_; }
  int64_t size() const { return static_cast<int64_t>(logits_.size()); }
  float operator[](int64_t id) const { return logits_[static_cast<size_t>(id)]; }

  // Id of the largest logit, the lowest among equals; -1 if the row is no distribution (sample.h).
  int32_t best() const { return best_; }
  float largest() const { return (*this)[best_]; }

  size_t blocks() const { return block_largest_.size(); }
  float largest_of_block(size_t block) const { return block_largest_[block]; }
  Range range_of_block(size_t block) const {
    const int64_t begin = static_cast<int64_t>(block) * block_size;
    return {begin, begin + block_size < size() ? begin + block_size : size()};
  }

  // The last one among the k that rank highest; of fewer than k above -inf, the last one of those.
  // Needs a distribution and k >= 1.
  RankedLogit last_of_top(int64_t k);

  // Those that rank no lower than `last`, in falling order.
  std::vector<RankedLogit> down_to(const RankedLogit& last) const;

  // How many are larger.
  int32_t count_above(float logit) const;

 private:
  std::span<const float> logits_;
  int32_t best_ = -1;
  std::vector<float> block_largest_;
  std::vector<RankedLogit> top_;  // scratch
};

}  // namespace dure
