// How the index of sparse attention is split: its scores by query rows and runs of keys, the choice
// by query rows.
#include <algorithm>

#include "kernels/cpu/latent_page.h"
#include "kernels/cpu/select_keys.h"
#include "kernels/cpu/vector/vector_backend.h"

namespace dure {

void VectorBackend::index_scores(const float* q, int64_t q_stride, const float* weights,
                                 int64_t heads, std::span<const AttentionSlice> slices,
                                 const LatentLayer& keys, float* scores, int64_t stride) {
  constexpr int64_t run = 512;  // keys
  index_items_.clear();
  for (size_t s = 0; s < slices.size(); ++s)
    for (int64_t i = slices[s].tokens - 1; i >= 0; --i)
      for (int64_t begin = 0; begin <= slices[s].start + i; begin += run)
        index_items_.push_back({static_cast<int32_t>(s), static_cast<int32_t>(i), begin});
  for (AlignedBuffer& scratch : thread_scratch_)
    reserve(scratch, heads * 16 * static_cast<int64_t>(sizeof(float)));
  const LatentPage layout(keys);
  const auto score = kernels_.index_scores[static_cast<size_t>(keys.dtype)];
  pool_.run(static_cast<int64_t>(index_items_.size()), [&](int64_t index, int thread) {
    const IndexItem& item = index_items_[static_cast<size_t>(index)];
    const AttentionSlice& slice = slices[static_cast<size_t>(item.slice)];
    const int64_t row = slice.row + item.token;
    IndexTile tile;
    tile.q = q + row * q_stride;
    tile.weights = weights + row * heads;
    tile.scores = scores + row * stride + item.begin;
    tile.heads = heads;
    tile.begin = item.begin;
    tile.end = std::min(item.begin + run, slice.start + item.token + 1);
    tile.keys = static_cast<const char*>(keys.rows);
    tile.page_bytes = keys.page_bytes;
    tile.pages = slice.pages.data();
    tile.page_tokens = keys.page_tokens;
    tile.dim = layout.width();
    tile.scratch = reinterpret_cast<float*>(thread_scratch_[static_cast<size_t>(thread)].data());
    score(tile);
  });
}

void VectorBackend::select_keys(const float* scores, int64_t stride,
                                std::span<const AttentionSlice> slices, int64_t top_k,
                                uint64_t* selected, int64_t words) {
  list_slice_rows(slices);
  int64_t most = 0;
  for (const AttentionSlice& slice : slices) most = std::max(most, slice.start + slice.tokens);
  for (AlignedBuffer& scratch : thread_scratch_)
    reserve(scratch, most * static_cast<int64_t>(sizeof(uint32_t)));
  each_row_of_thread(
      static_cast<int64_t>(slice_rows_.size()), most, [&](int64_t index, int thread) {
        const SliceRow& at = slice_rows_[static_cast<size_t>(index)];
        const AttentionSlice& slice = slices[static_cast<size_t>(at.slice)];
        const int64_t row = slice.row + at.token;
        auto* order =
            reinterpret_cast<uint32_t*>(thread_scratch_[static_cast<size_t>(thread)].data());
        select_highest(scores + row * stride, slice.start + at.token + 1, top_k,
                       {order, static_cast<size_t>(most)},
                       {selected + row * words, static_cast<size_t>(words)});
      });
}

}  // namespace dure
