// How latent attention is split: each item is a few query rows of one sequence times a few heads,
// as many as share a pass over its rows.
#include <algorithm>

#include "kernels/cpu/latent_page.h"
#include "kernels/cpu/vector/vector_backend.h"

namespace dure {

void VectorBackend::latent_write(const float* rows, int64_t stride,
                                 std::span<const AttentionSlice> slices, const LatentLayer& cache) {
  list_slice_rows(slices);
  const LatentPage layout(cache);
  each_row(static_cast<int64_t>(slice_rows_.size()), layout.width(), [&](int64_t index) {
    const SliceRow& at = slice_rows_[static_cast<size_t>(index)];
    const AttentionSlice& slice = slices[static_cast<size_t>(at.slice)];
    layout.write_token(slice, slice.start + at.token, rows + (slice.row + at.token) * stride);
  });
}

void VectorBackend::plan_latent(std::span<const AttentionSlice> slices, int64_t all_heads) {
  attention_items_.clear();
  for (int64_t head = 0; head < all_heads; head += most_attention_rows) {
    const int64_t heads = std::min<int64_t>(all_heads - head, most_attention_rows);
    const int64_t rows = most_attention_rows / heads;
    for (size_t s = 0; s < slices.size(); ++s) {
      // The last rows see the most keys: they start first, so that no thread ends late.
      for (int64_t end = slices[s].tokens; end > 0; end -= rows) {
        const int64_t token = std::max<int64_t>(end - rows, 0);
        attention_items_.push_back({static_cast<int32_t>(s), 0, static_cast<int32_t>(token),
                                    static_cast<int32_t>(end - token), static_cast<int32_t>(head),
                                    static_cast<int32_t>(heads)});
      }
    }
  }
}

void VectorBackend::latent_attention(const float* q, int64_t q_stride,
                                     std::span<const AttentionSlice> slices,
                                     const LatentShape& shape, const LatentLayer& cache,
                                     float* out) {
  plan_latent(slices, shape.heads);
  const LatentPage layout(cache);
  const int64_t keys_at =
      latent_scratch(cache.page_tokens, cache.latent) * static_cast<int64_t>(sizeof(float));
  for (AlignedBuffer& scratch : thread_scratch_)
    reserve(scratch, keys_at + cache.page_tokens * static_cast<int64_t>(sizeof(void*)));
  const auto attend = kernels_.latent_attention[static_cast<size_t>(cache.dtype)];
  pool_.run(static_cast<int64_t>(attention_items_.size()), [&](int64_t index, int thread) {
    const AttentionItem& item = attention_items_[static_cast<size_t>(index)];
    const AttentionSlice& slice = slices[static_cast<size_t>(item.slice)];
    const float* queries[most_attention_rows];
    float* results[most_attention_rows];
    int64_t end[most_attention_rows];
    const uint64_t* selected[most_attention_rows];
    int32_t entries = 0;
    for (int64_t i = item.token; i < item.token + item.tokens; ++i) {
      const int64_t row = slice.row + i;
      for (int64_t head = item.head; head < item.head + item.heads; ++head, ++entries) {
        queries[entries] = q + row * q_stride + head * layout.width();
        results[entries] = out + (row * shape.heads + head) * cache.latent;
        end[entries] = slice.start + i + 1;
        if (shape.selected != nullptr)
          selected[entries] = shape.selected + row * shape.selected_words;
      }
    }
    std::byte* const scratch = thread_scratch_[static_cast<size_t>(thread)].data();
    LatentTile tile;
    tile.q = queries;
    tile.out = results;
    tile.end = end;
    tile.selected = shape.selected != nullptr ? selected : nullptr;
    tile.entries = entries;
    tile.rows = static_cast<const char*>(cache.rows);
    tile.page_bytes = cache.page_bytes;
    tile.pages = slice.pages.data();
    tile.page_tokens = cache.page_tokens;
    tile.width = layout.width();
    tile.latent = cache.latent;
    tile.scale = shape.scale;
    tile.scratch = reinterpret_cast<float*>(scratch);
    tile.keys = reinterpret_cast<const void**>(scratch + keys_at);
    attend(tile);
  });
}

}  // namespace dure
