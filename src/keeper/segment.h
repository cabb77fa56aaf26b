// The memory that a rank's weights lie in: one mapping, that of another process too where it shall
// outlive the rank (a memfd: shared memory that has no name, no size limit of its own, and is gone
// with the last process that holds it).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/descriptor.h"

namespace dure {

class Segment {
 public:
  // Zeroed memory; `shareable`: behind a descriptor. Where the system has no shared memory to give
  // (an old kernel, a limit on file sizes) it is private all the same. Throws failed naming the
  // size where memory is refused.
  Segment(int64_t bytes, bool shareable);
  // What another process has filled, to be read only. Throws failed if it is shorter, or cannot be
  // mapped.
  Segment(Descriptor file, int64_t bytes);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  std::byte* data() const { return data_; }  // aligned to 2 MiB
  int64_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {data_, static_cast<size_t>(size_)}; }
  int file() const { return file_.get(); }  // -1: private

  // Gives [at, at + bytes) its pages before it is written to, of 2 MiB where the kernel grants
  // them; from any thread. Throws failed where there is no memory left. (Shared memory that is only
  // written to gets small pages in the default setting of Linux, and ends the process where there
  // is none.)
  void back(int64_t at, int64_t bytes);
  bool has_small_pages() const { return small_pages_; }

  // Nobody writes to it from now on, this process or any that gets its descriptor.
  void freeze();

 private:
  void map(int64_t bytes, int protection);
  void back_block(int64_t at);

  Descriptor file_;
  std::byte* mapping_ = nullptr;  // of address space, data_ within it
  size_t mapping_size_ = 0;
  std::byte* data_ = nullptr;
  int64_t size_ = 0;
  std::unique_ptr<std::atomic<bool>[]> backed_;  // blocks of 2 MiB that have been seen to
  std::atomic<bool> small_pages_{false};
};

}  // namespace dure
