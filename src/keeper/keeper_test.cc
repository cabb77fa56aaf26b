#include "keeper/keeper.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>

#include "base/error.h"
#include "keeper/checksum.h"
#include "keeper/keeper_client.h"
#include "keeper/segment.h"
#include "keeper/test_keeper.h"

namespace dure {
namespace {

constexpr int64_t size = 3 << 20;

KeptRecord record_of(const Segment& segment, uint64_t identity) {
  return {{identity, 1}, segment.size(), checksum_of(segment.bytes(), 1)};
}

std::unique_ptr<Segment> filled(int seed) {
  auto segment = std::make_unique<Segment>(size, true);
  segment->back(0, size);
  std::memset(segment->data(), seed, static_cast<size_t>(size));
  segment->freeze();
  return segment;
}

TEST(Keeper, GivesEachRankWhatItGave) {
  const TestKeeper keeper;
  for (int rank = 0; rank < 3; ++rank) {
    const KeeperClient client(keeper.name(), rank);
    EXPECT_FALSE(client.take());
    const auto segment = filled(rank + 1);
    client.keep(segment->file(), record_of(*segment, 40 + static_cast<uint64_t>(rank)));
  }
  for (int rank = 0; rank < 3; ++rank) {
    auto kept = KeeperClient(keeper.name(), rank).take();
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->record.identity[0], 40 + static_cast<uint64_t>(rank));
    const Segment segment(std::move(kept->file), kept->record.bytes);
    EXPECT_EQ(checksum_of(segment.bytes(), 1), kept->record.checksum);
    EXPECT_EQ(segment.data()[size - 1], static_cast<std::byte>(rank + 1));
  }
}

TEST(Keeper, ReplacesAndForgets) {
  const TestKeeper keeper;
  const KeeperClient client(keeper.name(), 5);
  for (const int seed : {1, 2}) {
    const auto segment = filled(seed);
    client.keep(segment->file(), record_of(*segment, 0));
  }
  auto kept = client.take();
  ASSERT_TRUE(kept);
  EXPECT_EQ(Segment(std::move(kept->file), size).data()[0], std::byte{2});
  client.drop();
  EXPECT_FALSE(client.take());
}

TEST(Keeper, RefusesWhatIsSmallerThanItsRecordSaysOrNothing) {
  const TestKeeper keeper;
  const KeeperClient client(keeper.name(), 0);
  const auto segment = filled(1);
  KeptRecord record = record_of(*segment, 0);
  record.bytes = size * 10;
  EXPECT_THROW(client.keep(segment->file(), record), Error);
  EXPECT_THROW(client.keep(-1, record), Error);
  EXPECT_FALSE(client.take());
}

TEST(Keeper, SurvivesThoseWhoSayNothingOrNonsense) {
  const TestKeeper keeper;
  { const Descriptor silent = connect_to_keeper(keeper.name()); }
  const Descriptor rude = connect_to_keeper(keeper.name());
  ASSERT_EQ(write(rude.get(), "nonsense", 8), 8);
  KeeperMessage other;
  other.version = 1;
  const Descriptor foreign = connect_to_keeper(keeper.name());
  send_message(foreign.get(), other, -1);
  EXPECT_FALSE(receive_message(foreign.get()));
  EXPECT_FALSE(KeeperClient(keeper.name(), 0).take());
}

TEST(Keeper, ThatIsGoneOrStoppedIsAnErrorAndNotAWaitWithoutEnd) {
  TestKeeper keeper;
  const KeeperClient client(keeper.name(), 0);
  kill(keeper.pid(), SIGSTOP);
  EXPECT_THROW((void)client.take(), Error);
  keeper.end();
  EXPECT_THROW((void)client.take(), Error);
  EXPECT_THROW((void)KeeperClient("nobody-listens-here", 0).take(), Error);
}

TEST(Keeper, EndsARankThatWasStoppedAndNoOther) {
  const TestKeeper keeper;
  const pid_t rank = fork();
  if (rank == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)KeeperClient(keeper.name(), 3).take();
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(rank, &status, WUNTRACED), rank);
  ASSERT_TRUE(WIFSTOPPED(status));
  ASSERT_EQ(waitpid(rank, &status, 0), rank);  // the test's own limit is the bound
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_FALSE(KeeperClient(keeper.name(), 3).take());  // from this process, which lives
}

// Without the kernel's help, which die_with_parent asks for.
TEST(Keeper, EndsWithItsParent) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    const pid_t keeper = fork();
    if (keeper == 0) _exit(run_keeper("dure-test-orphan-" + std::to_string(getppid())));
    (void)!write(ends[1], &keeper, sizeof keeper);
    pause();
  }
  pid_t keeper = -1;
  ASSERT_EQ(read(ends[0], &keeper, sizeof keeper), static_cast<ssize_t>(sizeof keeper));
  const KeeperClient client("dure-test-orphan-" + std::to_string(parent), 0);
  for (bool up = false; !up;) {
    try {
      up = !client.take();
    } catch (const Error&) {
      usleep(1000);
    }
  }
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  int status = -1;
  EXPECT_EQ(waitpid(keeper, &status, 0), keeper);  // the test's own limit is the bound
  EXPECT_EQ(status, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace dure
