// Lines of ranks go on under their names; banners are read, as Open MPI 4.1.4 printed them, and
// kept from the user.
#include "group/rank_output.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dure {
namespace {

struct Result {
  std::string forwarded;
  std::optional<RankDeath> death;
  std::string last_words;
};

Result read(std::string_view text, size_t piece = 1000) {
  Result result;
  RankOutput output([&](int rank, std::string_view text) {
    result.forwarded += fmt::format("rank {}: {}\n", rank, text);
  });
  for (size_t at = 0; at < text.size(); at += piece) output.feed(text.substr(at, piece));
  output.end();
  result.death = output.death();
  result.last_words = output.last_words();
  return result;
}

constexpr std::string_view killed = R"([1,2]<stderr>:hello from 2
[1,1]<stdout>:hello from 1
--------------------------------------------------------------------------
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
--------------------------------------------------------------------------
--------------------------------------------------------------------------
mpirun noticed that process rank 11 with PID 0 on node vm exited on signal 9 (Killed).
--------------------------------------------------------------------------
)";

TEST(RankOutput, NamesTheKilledRankAndKeepsBannersBack) {
  for (size_t piece : {1u, 7u, 10000u}) {
    const Result result = read(killed, piece);
    EXPECT_EQ(result.forwarded, "rank 2: hello from 2\nrank 1: hello from 1\n");
    ASSERT_TRUE(result.death);
    EXPECT_EQ(result.death->rank, 11);
    EXPECT_EQ(result.death->signal, 9);
    EXPECT_EQ(result.last_words, "rank 2: hello from 2 / rank 1: hello from 1");
  }
}

TEST(RankOutput, NamesTheRankThatEndedWithAStatus) {
  const Result result =
      read(R"(--------------------------------------------------------------------------
mpirun detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:

  Process name: [[1483,1],1]
  Exit code:    3
--------------------------------------------------------------------------
)");
  ASSERT_TRUE(result.death);
  EXPECT_EQ(result.death->rank, 1);
  EXPECT_EQ(result.death->signal, 0);
  EXPECT_EQ(result.death->status, 3);
  EXPECT_EQ(result.forwarded, "");
}

TEST(RankOutput, NamesTheRankThatAborted) {
  const Result result =
      read(R"(--------------------------------------------------------------------------
MPI_ABORT was invoked on rank 4 in communicator MPI_COMM_WORLD
with errorcode 5.
--------------------------------------------------------------------------
)");
  ASSERT_TRUE(result.death);
  EXPECT_EQ(result.death->rank, 4);
  EXPECT_EQ(result.death->status, 5);
}

TEST(RankOutput, NamesTheRankThatLeftQuietly) {
  const Result result = read(
      "mpirun has exited due to process rank 1 with PID 0 on\nnode vm exiting improperly. There "
      "are three reasons this could occur:\n");
  ASSERT_TRUE(result.death);
  EXPECT_EQ(result.death->rank, 1);
  EXPECT_EQ(result.death->status, 0);
}

TEST(RankOutput, TheFirstDeathIsTheOneThatCounts) {
  const Result result = read(
      "mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 11 (x).\n"
      "mpirun noticed that process rank 0 with PID 0 on node vm exited on signal 15 (x).\n");
  EXPECT_EQ(result.death->rank, 1);
}

TEST(RankOutput, ErrorsOfRanksAreKeptForTheReportOnly) {
  const Result result = read("[1,3]<stderr>:rank 3: error: no such file\n[1,0]<stderr>:warm\n");
  EXPECT_EQ(result.forwarded, "rank 0: warm\n");
  EXPECT_EQ(result.last_words, "rank 3: error: no such file / rank 0: warm");
}

TEST(RankOutput, AHalfOfABannerIsNotPassedOn) {
  EXPECT_EQ(read(killed.substr(0, killed.find("mpirun")).substr(killed.find("----"))).last_words,
            "");
}

TEST(RankOutput, ABannerAboutADeathIsNotRepeated) {
  const std::string_view banner = killed.substr(killed.find("-----"));
  for (size_t piece : {1u, 10000u}) {
    const Result result = read(banner, piece);
    ASSERT_TRUE(result.death);
    EXPECT_EQ(result.last_words, "");
  }
}

TEST(RankOutput, MpirunSpeaksWhenNoRankDid) {
  EXPECT_EQ(read("There are not enough slots\n----------------\nfor 8\n").last_words,
            "There are not enough slots / for 8");
}

TEST(RankOutput, TheRemoteShellSaysWhichHostIsDown) {
  const std::string banner =
      "--------\nORTE was unable to reliably start one or more daemons.\nThis usually is caused "
      "by:\n\n* not finding the required libraries and/or binaries on\n  one or more nodes.\n";
  EXPECT_EQ(read("ssh: connect to host 192.0.2.1 port 22: No route to host\n" + banner).last_words,
            "ssh: connect to host 192.0.2.1 port 22: No route to host");
  EXPECT_THAT(read(banner).last_words, testing::HasSubstr("reliably start"));
}

TEST(RankOutput, ALineWithoutEndTakesNoMemory) {
  const std::string text = "[1,0]<stderr>:" + std::string(1'000'000, 'x');
  EXPECT_LE(read(text, 5000).forwarded.size(), 4200u);
  EXPECT_EQ(read("[1,0]<stderr>:\n[\n[1]\n[a,b]<stderr>:c\n").forwarded, "");
}

}  // namespace
}  // namespace dure
