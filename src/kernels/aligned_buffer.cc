// See aligned_buffer.h.
#include "kernels/aligned_buffer.h"

#include <sys/mman.h>

#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "base/error.h"

namespace dure {

// A mapping that starts on a huge page. Unmapped with the last buffer in it.
struct MappedChunk {
  std::byte* begin = nullptr;
  int64_t size = 0;
  ~MappedChunk() {
    if (begin != nullptr) munmap(begin, static_cast<size_t>(size));
  }
};

namespace {

constexpr int64_t huge_page = int64_t{2} << 20;
constexpr int64_t small_page = 4096;
constexpr int64_t line = 64;
constexpr int64_t mapped_from = 64 << 10;  // smaller buffers come from the heap
constexpr int64_t chunk_size = int64_t{64} << 20;
constexpr std::align_val_t line_alignment{line};

int64_t round_up(int64_t bytes, int64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Null if the system refuses.
std::shared_ptr<MappedChunk> map_chunk(int64_t bytes) {
  auto chunk = std::make_shared<MappedChunk>();
  const size_t size = static_cast<size_t>(round_up(bytes, small_page));
  const size_t slack = static_cast<size_t>(huge_page);
  void* mapped =
      mmap(nullptr, size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  std::byte* const begin = static_cast<std::byte*>(mapped);
  const size_t before = (slack - reinterpret_cast<uintptr_t>(begin) % slack) % slack;
  if (before != 0) munmap(begin, before);
  if (before != slack) munmap(begin + before + size, slack - before);
  madvise(begin + before, size, MADV_HUGEPAGE);  // a wish: refusal costs speed only
  chunk->begin = begin + before;
  chunk->size = static_cast<int64_t>(size);
  return chunk;
}

// Where the next buffers of the process are cut from, as malloc would; the one thing here that is
// shared by all.
struct OpenChunk {
  std::mutex mutex;
  std::shared_ptr<MappedChunk> chunk;
  int64_t used = 0;
};

OpenChunk& open_chunk() {
  static OpenChunk open;
  return open;
}

struct Piece {
  std::shared_ptr<MappedChunk> chunk;
  std::byte* data = nullptr;
};

Piece cut_piece(int64_t bytes) {
  if (bytes > chunk_size / 4) {  // large enough for a mapping of its own
    auto chunk = map_chunk(bytes);
    std::byte* const data = chunk ? chunk->begin : nullptr;
    return {std::move(chunk), data};
  }
  OpenChunk& open = open_chunk();
  const std::lock_guard lock(open.mutex);
  const int64_t size = round_up(bytes, line);
  if (open.chunk == nullptr || open.used + size > open.chunk->size) {
    open.chunk = map_chunk(chunk_size);
    open.used = 0;
    if (open.chunk == nullptr) return {};
  }
  std::byte* const data = open.chunk->begin + open.used;
  open.used += size;
  return {open.chunk, data};
}

}  // namespace

AlignedBuffer::AlignedBuffer(int64_t bytes) : size_(bytes) {
  DURE_CHECK(bytes >= 0);
  if (bytes == 0) return;
  if (bytes < mapped_from) {
    data_ = static_cast<std::byte*>(
        ::operator new(static_cast<size_t>(bytes), line_alignment, std::nothrow));
    if (data_ != nullptr) std::memset(data_, 0, static_cast<size_t>(bytes));
  } else {
    Piece piece = cut_piece(bytes);
    chunk_ = std::move(piece.chunk);
    data_ = piece.data;
  }
  if (data_ == nullptr)
    throw Error(ErrorCode::failed, "no memory for a buffer of " + std::to_string(bytes) + " bytes",
                "free memory on this machine, or spread the model over more ranks");
}

AlignedBuffer::~AlignedBuffer() {
  if (chunk_ == nullptr) {
    ::operator delete(data_, line_alignment);
    return;
  }
  // The chunk may live on for others; whole pages of this buffer go back now.
  const auto address = reinterpret_cast<uintptr_t>(data_);
  const int64_t skip = (small_page - static_cast<int64_t>(address % small_page)) % small_page;
  const int64_t whole = (size_ - skip) / small_page * small_page;
  if (whole > 0) madvise(data_ + skip, static_cast<size_t>(whole), MADV_DONTNEED);
}

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      chunk_(std::move(other.chunk_)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(chunk_, other.chunk_);
  return *this;
}

}  // namespace dure
