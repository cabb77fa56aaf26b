// Memory for weights and caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace dure {

struct MappedChunk;

// Aligned to 64 bytes, zeroed, returned to the system when freed. From 64 KiB on it lies on 2 MiB
// pages where the kernel grants them (madvise). Buffers share mappings of 64 MiB one after another,
// so that a matrix of 3 MiB lies on huge pages as a whole, and none is wasted on its end.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(int64_t bytes);  // throws `failed` naming the size when memory is refused
  ~AlignedBuffer();
  AlignedBuffer(AlignedBuffer&& other) noexcept;  // leaves `other` empty
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;

  std::byte* data() const { return data_; }
  int64_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  int64_t size_ = 0;
  std::shared_ptr<MappedChunk> chunk_;  // that data_ lies in; null for small buffers
};

}  // namespace dure
