#include "kernels/aligned_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include "base/error.h"

namespace dure {
namespace {

TEST(AlignedBuffer, IsAlignedZeroedAndMovable) {
  for (int64_t bytes :
       {int64_t{1}, int64_t{1000}, int64_t{70000}, int64_t{3} << 20, (int64_t{20} << 20) + 1}) {
    AlignedBuffer buffer(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u);
    EXPECT_TRUE(std::all_of(buffer.data(), buffer.data() + bytes,
                            [](std::byte b) { return b == std::byte{0}; }));
    buffer.data()[bytes - 1] = std::byte{7};
    AlignedBuffer moved = std::move(buffer);
    EXPECT_EQ(moved.data()[bytes - 1], std::byte{7});
    EXPECT_EQ(moved.size(), bytes);
  }
  EXPECT_EQ(AlignedBuffer(0).data(), nullptr);
}

TEST(AlignedBuffer, ManyBuffersDoNotOverlapAndFreedOnesLeaveTheOthers) {
  std::vector<AlignedBuffer> buffers;
  for (int i = 0; i < 60; ++i) {
    buffers.emplace_back((int64_t{3} << 20) + i * 1000);
    std::memset(buffers.back().data(), i + 1, static_cast<size_t>(buffers.back().size()));
  }
  for (size_t i = 0; i < buffers.size(); i += 2) buffers[i] = AlignedBuffer();
  for (size_t i = 1; i < buffers.size(); i += 2) {
    const std::byte expected{static_cast<uint8_t>(i + 1)};
    EXPECT_TRUE(std::all_of(buffers[i].data(), buffers[i].data() + buffers[i].size(),
                            [=](std::byte b) { return b == expected; }));
  }
}

// Resident pages of this process (proc_pid_statm(5)).
int64_t resident_pages() {
  std::ifstream file("/proc/self/statm");
  int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident;
}

TEST(AlignedBuffer, FreedMemoryGoesBackToTheSystemWhileItsNeighbourLives) {
  AlignedBuffer neighbour(int64_t{1} << 20);
  AlignedBuffer buffer(int64_t{14} << 20);
  std::memset(neighbour.data(), 1, static_cast<size_t>(neighbour.size()));
  std::memset(buffer.data(), 1, static_cast<size_t>(buffer.size()));
  const int64_t before = resident_pages();
  buffer = AlignedBuffer();
  EXPECT_LT(resident_pages(), before - 2048);  // 14 MiB are 3584 pages; others may come and go
  EXPECT_EQ(neighbour.data()[0], std::byte{1});
}

TEST(AlignedBuffer, SaysHowMuchMemoryWasRefused) {
  try {
    AlignedBuffer buffer(int64_t{1} << 60);
    FAIL() << "2^60 bytes were granted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::failed);
    EXPECT_NE(error.message().find("1152921504606846976"), std::string::npos);
  }
}

}  // namespace
}  // namespace dure
