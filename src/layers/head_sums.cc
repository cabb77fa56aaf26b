// See head_sums.h.
#include "layers/head_sums.h"

#include <algorithm>

namespace dure {

HeadSums::HeadSums(const Runtime& runtime, int64_t rows, int64_t all, int64_t head_dim)
    : runtime_(runtime),
      rows_(rows),
      all_(all),
      head_dim_(head_dim),
      sums_(runtime.workspace.floats(StepBuffer::norm_sums)),
      totals_(sums_ + rows * all) {
  std::fill_n(sums_, rows * all, 0.0f);
}

void HeadSums::contribute(const float* x, int64_t heads, int64_t stride, int64_t at) const {
  if (heads == 0) return;
  std::vector<float> own(static_cast<size_t>(rows_ * heads));
  runtime_.backend.sum_squares(x, rows_, heads, head_dim_, stride, own.data());
  for (int64_t i = 0; i < rows_; ++i) {
    std::copy_n(own.data() + i * heads, heads, sums_ + i * all_ + at);
  }
}

void HeadSums::exchange(std::string_view what) const {
  runtime_.reduce_partial(sums_, rows_ * all_, what);
}

void HeadSums::normalise(float* x, int64_t held, int64_t stride, int64_t first, int64_t heads,
                         const float* w) const {
  if (held == 0) return;
  for (int64_t i = 0; i < rows_; ++i) {
    float total = 0.0f;
    for (int64_t head = 0; head < heads; ++head) total += sums_[i * all_ + first + head];
    totals_[i] = total;
  }
  runtime_.backend.scale_by_norm(x, rows_, held * head_dim_, stride, totals_,
                                 static_cast<float>(heads * head_dim_), w,
                                 static_cast<float>(runtime_.spec.norm_eps));
}

}  // namespace dure
