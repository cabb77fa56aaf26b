// Pieces of work of latent attention for the kernels of one instruction set; see kernel_table.h for
// what these files may share.
#pragma once

#include <cstdint>

namespace dure {

// Queries of up to most_attention_rows (row, head) pairs of the same sequence. Entries of one row
// lie together.
struct LatentTile {
  const float* const* q = nullptr;            // [entries]: [width]
  float* const* out = nullptr;                // [entries]: [latent]
  const int64_t* end = nullptr;               // [entries]: one past the last key seen, above 0
  const uint64_t* const* selected = nullptr;  // [entries]: bits of the keys seen; null: all
  int32_t entries = 0;
  const char* rows = nullptr;      // page 0: [page_tokens][width]
  int64_t page_bytes = 0;          // from one page to the next
  const int32_t* pages = nullptr;  // page of each block of positions
  int64_t page_tokens = 0;
  int64_t width = 0;   // elements of a row
  int64_t latent = 0;  // the first of them, which are the value
  float scale = 1.0f;
  const void** keys = nullptr;  // scratch [page_tokens]
  float* scratch = nullptr;     // latent_scratch() floats, aligned to 64 bytes
};

// One query row against keys [begin, end) of its sequence.
struct IndexTile {
  const float* q = nullptr;        // [heads][dim]
  const float* weights = nullptr;  // [heads]
  float* scores = nullptr;         // [end - begin]
  int64_t heads = 0;
  int64_t begin = 0;
  int64_t end = 0;
  const char* keys = nullptr;  // page 0: [page_tokens][dim]
  int64_t page_bytes = 0;
  const int32_t* pages = nullptr;
  int64_t page_tokens = 0;
  int64_t dim = 0;
  float* scratch = nullptr;  // [heads][16], aligned to 64 bytes
};

}  // namespace dure
