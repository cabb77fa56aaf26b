#include "keeper/segment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "base/error.h"
#include "keeper/checksum.h"

namespace dure {
namespace {

constexpr int64_t size = (int64_t{5} << 20) + 4096 + 17;

void fill(Segment& segment) {
  segment.back(0, segment.size());
  for (int64_t i = 0; i < segment.size(); ++i) segment.data()[i] = static_cast<std::byte>(i * 7);
}

TEST(Segment, IsZeroedAndAlignedWhetherShareableOrNot) {
  for (const bool shareable : {false, true}) {
    Segment segment(size, shareable);
    EXPECT_EQ(segment.file() >= 0, shareable);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(segment.data()) % (2 << 20), 0u);
    segment.back(100, 3 << 20);
    EXPECT_TRUE(std::all_of(segment.data(), segment.data() + size,
                            [](std::byte b) { return b == std::byte{0}; }));
    fill(segment);
    segment.freeze();
    EXPECT_EQ(segment.data()[size - 1], static_cast<std::byte>((size - 1) * 7));
  }
}

TEST(Segment, MayBeEmpty) {
  Segment segment(0, true);
  segment.back(0, 0);
  segment.freeze();
  EXPECT_EQ(segment.bytes().size(), 0u);
}

TEST(Segment, OutlivesItsMakerInTheHandsOfWhoeverHoldsItsDescriptor) {
  Descriptor file;
  uint64_t sum = 0;
  {
    Segment segment(size, true);
    fill(segment);
    segment.freeze();
    sum = checksum_of(segment.bytes(), 2);
    file = Descriptor(dup(segment.file()));
  }
  const Segment again(std::move(file), size);
  EXPECT_EQ(checksum_of(again.bytes(), 1), sum);
}

TEST(Segment, OnceFrozenNobodyCanWriteIt) {
  Segment segment(size, true);
  fill(segment);
  segment.freeze();
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, segment.file(), 0), MAP_FAILED);
  EXPECT_LT(pwrite(segment.file(), "x", 1, 0), 0);
  EXPECT_NE(ftruncate(segment.file(), 0), 0);
  EXPECT_DEATH(segment.data()[0] = std::byte{1}, "");
}

TEST(Segment, RefusesMemoryThatIsShorterThanItShouldBe) {
  const Segment segment(4096, true);
  EXPECT_THROW(Segment(Descriptor(dup(segment.file())), int64_t{3} << 20), Error);
}

TEST(Segment, IsPrivateWhereFilesMayNotBeAsLarge) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 1 << 20;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  {
    Segment segment(size, true);
    EXPECT_LT(segment.file(), 0);
    fill(segment);
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
}

TEST(Segment, MoreThanThereIsSaysHowMuchWasAskedFor) {
  try {
    const Segment segment(int64_t{1} << 50, false);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("1.00 PiB"), std::string::npos) << error.message();
    EXPECT_FALSE(error.hint().empty());
  }
}

TEST(Checksum, DoesNotDependOnThreadsAndSeesOneBit) {
  std::vector<std::byte> bytes((size_t{40} << 20) + 3, std::byte{5});
  const uint64_t sum = checksum_of(bytes, 1);
  EXPECT_EQ(checksum_of(bytes, 2), sum);
  EXPECT_EQ(checksum_of(bytes, 9), sum);
  bytes[bytes.size() - 1] ^= std::byte{1};
  EXPECT_NE(checksum_of(bytes, 2), sum);
  EXPECT_NE(checksum_of(std::span(bytes).first(bytes.size() - 1), 2), sum);
}

}  // namespace
}  // namespace dure
