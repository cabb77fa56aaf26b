// See segment.h.
#include "keeper/segment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/units.h"

// Linux 5.14 and 6.1; the headers may be older than the kernel.
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

namespace dure {
namespace {

constexpr int64_t huge_page = int64_t{2} << 20;
constexpr int64_t small_page = 4096;

int64_t round_up(int64_t bytes, int64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

[[noreturn]] void throw_no_memory(int64_t bytes, const char* why) {
  throw Error(ErrorCode::failed,
              fmt::format("no memory for {} of weights: {}", format_bytes(bytes), why),
              "free memory on this machine, or spread the model over more ranks");
}

// A limit on file sizes holds for memory files, too, and ends the process that ignores it.
bool may_make_files_of(int64_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= static_cast<rlim_t>(bytes);
}

Descriptor memory_file(int64_t bytes) {
  if (!may_make_files_of(bytes)) return {};
  Descriptor file(memfd_create("dure weights", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file && ftruncate(file.get(), bytes) != 0) file.reset();
  return file;
}

}  // namespace

Segment::Segment(int64_t bytes, bool shareable) {
  const int64_t whole = round_up(bytes, huge_page);
  if (shareable) file_ = memory_file(whole);
  map(bytes, PROT_READ | PROT_WRITE);
  backed_ = std::make_unique<std::atomic<bool>[]>(static_cast<size_t>(whole / huge_page));
}

Segment::Segment(Descriptor file, int64_t bytes) : file_(std::move(file)) {
  struct stat facts {};
  if (fstat(file_.get(), &facts) != 0 || facts.st_size < bytes) {
    throw Error(ErrorCode::failed, fmt::format("kept memory has {}, not {}",
                                               format_bytes(facts.st_size), format_bytes(bytes)));
  }
  map(bytes, PROT_READ);
}

Segment::~Segment() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_size_);
}

// Takes address space with room to begin at a huge page, and puts the memory there.
void Segment::map(int64_t bytes, int protection) {
  size_ = bytes;
  const auto whole = static_cast<size_t>(round_up(std::max<int64_t>(bytes, 1), huge_page));
  const auto slack = static_cast<size_t>(huge_page);
  void* space =
      mmap(nullptr, whole + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) throw_no_memory(bytes, std::strerror(errno));
  mapping_ = static_cast<std::byte*>(space);
  mapping_size_ = whole + slack;
  data_ = mapping_ + (slack - reinterpret_cast<uintptr_t>(space) % slack) % slack;
  const int kind = file_ ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  if (mmap(data_, whole, protection, kind | MAP_FIXED, file_.get(), 0) == MAP_FAILED) {
    const char* const why = std::strerror(errno);
    munmap(mapping_, mapping_size_);
    mapping_ = nullptr;
    throw_no_memory(bytes, why);
  }
  madvise(data_, whole, MADV_HUGEPAGE);  // a wish: refusal costs speed only
}

void Segment::back(int64_t at, int64_t bytes) {
  DURE_CHECK(at >= 0 && bytes >= 0 && at + bytes <= size_);
  if (!file_ || bytes == 0) return;  // private memory gets huge pages as it is written to
  for (int64_t block = at / huge_page; block <= (at + bytes - 1) / huge_page; ++block) {
    if (!backed_[static_cast<size_t>(block)].exchange(true)) back_block(block * huge_page);
  }
}

// One page, which is then made a huge one; or else all small ones.
void Segment::back_block(int64_t at) {
  if (madvise(data_ + at, small_page, MADV_POPULATE_WRITE) == 0 &&
      madvise(data_ + at, huge_page, MADV_COLLAPSE) == 0) {
    return;
  }
  small_pages_ = true;
  if (madvise(data_ + at, huge_page, MADV_POPULATE_WRITE) == 0 || errno == EINVAL) return;
  throw_no_memory(size_, errno == EFAULT ? "the system gives no more" : std::strerror(errno));
}

void Segment::freeze() {
  mprotect(data_, static_cast<size_t>(round_up(size_, huge_page)), PROT_READ);
  if (file_) {
    fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE);
  }
}

}  // namespace dure
