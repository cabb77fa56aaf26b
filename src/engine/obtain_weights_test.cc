#include "engine/obtain_weights.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "keeper/checksum.h"
#include "keeper/keeper_client.h"
#include "keeper/test_keeper.h"
#include "model/load_spec.h"

namespace dure {
namespace {

namespace fs = std::filesystem;

// A copy of the demo model, for its files to be changed.
class ObtainWeights : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("dure-obtain-" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::copy(fs::path(DURE_SOURCE_DIR) / "models/demo-moe", folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // As a rank that was just started does it.
  ObtainedWeights obtain(const std::string& keeper, int rank = 1,
                         Layout layout = {.tp = 2, .ep = 2}) {
    said_.clear();
    bytes_ = 0;
    const ModelSpec spec = load_spec(folder_);
    const auto checkpoint = CheckpointReader::open(folder_);
    const std::vector<Weight> weights = bind_inventory(spec, *checkpoint);
    const RankShare share = share_of(spec, layout, rank);
    const std::vector<Resident> residents =
        resident_weights(weights, spec, layout, share, Compute::bf16);
    bytes_to_load_ = bytes_to_read(residents);
    WeightRequest request{*checkpoint, residents, {}, keeper, 2, {}};
    request.origin = {folder_, checkpoint->files(), layout, rank, Compute::bf16, "avx2"};
    request.say = [this](const std::string& line) { said_ += line + "\n"; };
    return obtain_weights(request, &bytes_);
  }

  fs::path folder_;
  std::string said_;
  std::atomic<int64_t> bytes_{0};
  int64_t bytes_to_load_ = 0;
};

TEST_F(ObtainWeights, TakesWhatWasKeptAndItIsWhatLoadingGives) {
  const TestKeeper keeper;
  for (const int rank : {0, 1}) {
    uint64_t loaded = 0;
    {
      const ObtainedWeights first = obtain(keeper.name(), rank);
      EXPECT_FALSE(first.kept);
      loaded = checksum_of(first.memory->bytes(), 1);
      EXPECT_EQ(first.checksum, loaded);
    }
    const ObtainedWeights second = obtain(keeper.name(), rank);
    EXPECT_TRUE(second.kept);
    EXPECT_EQ(bytes_, bytes_to_load_);
    EXPECT_EQ(checksum_of(second.memory->bytes(), 1), loaded);
    EXPECT_NE(said_.find("were kept in memory"), std::string::npos) << said_;
    const ObtainedWeights alone = obtain("", rank);
    EXPECT_EQ(checksum_of(alone.memory->bytes(), 1), loaded);
  }
}

TEST_F(ObtainWeights, ThrowsAwayWhatHasAnotherChecksum) {
  const TestKeeper keeper;
  const KeeperClient client(keeper.name(), 1);
  const ObtainedWeights good = obtain(keeper.name());
  Segment harmed(good.memory->size(), true);
  harmed.back(0, harmed.size());
  std::memcpy(harmed.data(), good.memory->data(), static_cast<size_t>(harmed.size()));
  harmed.data()[harmed.size() / 2] ^= std::byte{0x10};
  client.keep(harmed.file(), client.take()->record);
  const ObtainedWeights again = obtain(keeper.name());
  EXPECT_FALSE(again.kept);
  EXPECT_NE(said_.find("warning: weights that were kept in memory have changed there"),
            std::string::npos)
      << said_;
  EXPECT_EQ(again.checksum, good.checksum);
  EXPECT_TRUE(obtain(keeper.name()).kept);  // the new ones
}

TEST_F(ObtainWeights, ThrowsAwayWhatWasMadeFromOtherFiles) {
  const TestKeeper keeper;
  EXPECT_FALSE(obtain(keeper.name()).kept);
  const fs::path file = folder_ / "model.safetensors";
  fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(1));
  EXPECT_FALSE(obtain(keeper.name()).kept);
  EXPECT_NE(said_.find("are of other files, or of another layout"), std::string::npos) << said_;
  EXPECT_TRUE(obtain(keeper.name()).kept);
  std::ofstream(folder_ / "config.json", std::ios::app) << "\n";
  EXPECT_FALSE(obtain(keeper.name()).kept);
}

TEST_F(ObtainWeights, ThrowsAwayWhatIsOfAnotherLayout) {
  const TestKeeper keeper;
  EXPECT_FALSE(obtain(keeper.name()).kept);
  EXPECT_FALSE(obtain(keeper.name(), 1, {.tp = 2, .ep = 1}).kept);
  EXPECT_NE(said_.find("another layout"), std::string::npos) << said_;
}

TEST_F(ObtainWeights, LoadsWithoutAKeeperThatIsDeadOrStopped) {
  TestKeeper keeper;
  EXPECT_FALSE(obtain(keeper.name()).kept);
  kill(keeper.pid(), SIGSTOP);
  EXPECT_FALSE(obtain(keeper.name()).kept);
  EXPECT_NE(said_.find("kept weights cannot be had"), std::string::npos) << said_;
  EXPECT_NE(said_.find("will not outlive this rank"), std::string::npos) << said_;
  keeper.end();
  const ObtainedWeights loaded = obtain(keeper.name());
  EXPECT_FALSE(loaded.kept);
  EXPECT_GT(loaded.memory->size(), 0);
}

}  // namespace
}  // namespace dure
