#include "cluster/gpu.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace dure {
namespace {

using ::testing::HasSubstr;

constexpr double gib = 1024.0 * 1024.0 * 1024.0;

TEST(Gpu, NominalAndUsableMemoryAreTwoNumbers) {
  EXPECT_EQ(find_gpu("b200").nominal_bytes, 192'000'000'000);
  EXPECT_NEAR(static_cast<double>(find_gpu("b200").usable_bytes) / gib, 178.35, 0.001);
  EXPECT_NEAR(static_cast<double>(find_gpu("GB200").usable_bytes) / gib, 184.31, 0.001);
}

TEST(Gpu, ASizeIsAllUsable) {
  EXPECT_EQ(find_gpu("80GB").usable_bytes, 80'000'000'000);
  EXPECT_EQ(find_gpu("80GiB").nominal_bytes, int64_t{80} << 30);
}

TEST(Gpu, EveryNameOfTheCatalogueIsFound) {
  for (const std::string& name : known_gpus()) {
    const Gpu gpu = find_gpu(name);
    EXPECT_EQ(gpu.name, name);
    // Usable memory is within a tenth of what is on the box.
    const double ratio =
        static_cast<double>(gpu.usable_bytes) / static_cast<double>(gpu.nominal_bytes);
    EXPECT_GT(ratio, 0.9) << name;
    EXPECT_LT(ratio, 1.1) << name;
  }
}

TEST(Gpu, AnUnknownNameGetsTheClosest) {
  try {
    find_gpu("h10");
    FAIL() << "found h10";
  } catch (const Error& error) {
    EXPECT_THAT(error.hint(), HasSubstr("did you mean h100"));
  }
  EXPECT_THROW(find_gpu(""), Error);
  EXPECT_THROW(find_gpu("80XB"), Error);
}

}  // namespace
}  // namespace dure
