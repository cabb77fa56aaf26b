// How attention is split: each item is a few query rows of one sequence times the query heads that
// read one kv head, as many as share a pass over its keys.
#include <algorithm>

#include "kernels/cpu/first_key.h"
#include "kernels/cpu/kv_page.h"
#include "kernels/cpu/vector/vector_backend.h"

namespace dure {

// One list, since a batch may be one long prefill or many single tokens.
void VectorBackend::list_slice_rows(std::span<const AttentionSlice> slices) {
  slice_rows_.clear();
  for (size_t s = 0; s < slices.size(); ++s)
    for (int64_t i = 0; i < slices[s].tokens; ++i)
      slice_rows_.push_back({static_cast<int32_t>(s), static_cast<int32_t>(i)});
}

void VectorBackend::kv_write(const float* k, int64_t k_stride, const float* v, int64_t v_stride,
                             std::span<const AttentionSlice> slices, const KvLayer& cache) {
  list_slice_rows(slices);
  const KvPage layout(cache);
  const int64_t width = cache.kv_heads * (cache.head_dim + cache.v_head_dim);
  each_row(static_cast<int64_t>(slice_rows_.size()), width, [&](int64_t index) {
    const SliceRow& at = slice_rows_[static_cast<size_t>(index)];
    const AttentionSlice& slice = slices[static_cast<size_t>(at.slice)];
    const int64_t row = slice.row + at.token;
    layout.write_token(slice, slice.start + at.token, k + row * k_stride, v + row * v_stride);
  });
}

void VectorBackend::plan_attention(std::span<const AttentionSlice> slices,
                                   const AttentionShape& shape, int64_t kv_heads) {
  heads_by_kv_.clear();
  attention_items_.clear();
  for (int64_t kv = 0; kv < kv_heads; ++kv) {
    const size_t first = heads_by_kv_.size();
    for (int64_t head = 0; head < shape.heads; ++head)
      if (shape.kv_of_head[static_cast<size_t>(head)] == kv)
        heads_by_kv_.push_back(static_cast<int32_t>(head));
    for (size_t head = first; head < heads_by_kv_.size(); head += most_attention_rows) {
      const int64_t heads =
          std::min<int64_t>(static_cast<int64_t>(heads_by_kv_.size() - head), most_attention_rows);
      const int64_t rows = most_attention_rows / heads;
      for (size_t s = 0; s < slices.size(); ++s) {
        // The last rows see the most keys: they start first, so that no thread ends late.
        for (int64_t end = slices[s].tokens; end > 0; end -= rows) {
          const int64_t token = std::max<int64_t>(end - rows, 0);
          attention_items_.push_back({static_cast<int32_t>(s), static_cast<int32_t>(kv),
                                      static_cast<int32_t>(token),
                                      static_cast<int32_t>(end - token), static_cast<int32_t>(head),
                                      static_cast<int32_t>(heads)});
        }
      }
    }
  }
}

void VectorBackend::attention(const float* q, int64_t q_stride,
                              std::span<const AttentionSlice> slices, const AttentionShape& shape,
                              const KvLayer& cache, float* out) {
  plan_attention(slices, shape, cache.kv_heads);
  for (AlignedBuffer& scratch : thread_scratch_)
    reserve(scratch, attention_scratch(cache.page_tokens, shape.head_dim, shape.v_head_dim) *
                         static_cast<int64_t>(sizeof(float)));
  const KvPage layout(cache);
  const int64_t bytes = bytes_of(cache.dtype);
  const auto attend = kernels_.attention[static_cast<size_t>(cache.dtype)];
  pool_.run(static_cast<int64_t>(attention_items_.size()), [&](int64_t index, int thread) {
    const AttentionItem& item = attention_items_[static_cast<size_t>(index)];
    const AttentionSlice& slice = slices[static_cast<size_t>(item.slice)];
    const float* queries[most_attention_rows];
    float* results[most_attention_rows];
    float sinks[most_attention_rows];
    int64_t begin[most_attention_rows];
    int64_t end[most_attention_rows];
    int32_t entries = 0;
    for (int64_t i = item.token; i < item.token + item.tokens; ++i) {
      for (int32_t h = 0; h < item.heads; ++h, ++entries) {
        const int64_t head = heads_by_kv_[static_cast<size_t>(item.head) + static_cast<size_t>(h)];
        const int64_t row = slice.row + i;
        queries[entries] = q + row * q_stride + head * shape.head_dim;
        results[entries] = out + (row * shape.heads + head) * shape.v_head_dim;
        begin[entries] = first_key(shape, slice.start + i);
        end[entries] = slice.start + i + 1;
        if (shape.sinks != nullptr) sinks[entries] = shape.sinks[head];
      }
    }
    AttentionTile tile;
    tile.q = queries;
    tile.out = results;
    tile.begin = begin;
    tile.end = end;
    tile.sinks = shape.sinks != nullptr ? sinks : nullptr;
    tile.entries = entries;
    tile.k = static_cast<const char*>(cache.k) + layout.k_index(item.kv_head, 0, 0) * bytes;
    tile.v = static_cast<const char*>(cache.v) + layout.v_index(item.kv_head, 0, 0) * bytes;
    tile.page_bytes = cache.page_bytes;
    tile.pages = slice.pages.data();
    tile.first_page = slice.first_page;
    tile.page_tokens = cache.page_tokens;
    tile.head_dim = shape.head_dim;
    tile.v_head_dim = shape.v_head_dim;
    tile.scale = shape.scale;
    tile.softcap = shape.softcap;
    tile.scratch = reinterpret_cast<float*>(thread_scratch_[static_cast<size_t>(thread)].data());
    attend(tile);
  });
}

}  // namespace dure
