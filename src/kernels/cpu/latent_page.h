// Where an element of a latent row lies: [page_tokens][latent + rope] in a page.
#pragma once

#include "kernels/backend.h"
#include "kernels/cpu/stored_element.h"

namespace dure {

class LatentPage {
 public:
  explicit LatentPage(const LatentLayer& cache) : cache_(cache) {}

  int64_t width() const { return cache_.latent + cache_.rope; }

  float load(int64_t page, int64_t token, int64_t element) const {
    const auto* row = static_cast<const std::byte*>(cache_.rows) + offset(page, token);
    return load_element(row, cache_.dtype, element);
  }

  // Writes the row of one position, converted.
  void write_token(const AttentionSlice& slice, int64_t position, const float* row) const {
    const int64_t page = slice.page_of(position / cache_.page_tokens);
    auto* to = static_cast<std::byte*>(cache_.rows) + offset(page, position % cache_.page_tokens);
    store_elements(to, cache_.dtype, 0, 1, row, width());
  }

 private:
  int64_t row_bytes() const { return width() * bytes_of(cache_.dtype); }
  int64_t offset(int64_t page, int64_t token) const {
    return page * cache_.page_bytes + token * row_bytes();
  }

  LatentLayer cache_;
};

}  // namespace dure
