// What needs several ranks: run under mpirun, every rank runs the same tests in the same order.
// Arguments: --tp N --pp N --dp N --bells 1, then gtest's. A failed check on one rank fails the
// run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>

#include "base/error.h"
#include "comm/communicator.h"
#include "comm/test_bells.h"

namespace dure {
namespace {

World* world = nullptr;
Layout layout;

// The same on every rank: dice that depend on the test's counter alone, and on a rank if asked.
std::mt19937_64 dice_for(uint64_t seed, int rank = -1) {
  return std::mt19937_64(seed * 1000003 + static_cast<uint64_t>(rank + 1));
}

// Mostly ordinary numbers of very different size; some zeros, denormals, infinities and NaNs.
std::vector<float> numbers_of(int rank, uint64_t seed, size_t count) {
  auto dice = dice_for(seed, rank);
  std::vector<float> result(count);
  for (float& x : result) {
    const auto word = static_cast<uint32_t>(dice());
    const uint32_t exponent = 97 + word % 60;  // 2^-30 to 2^29
    x = std::bit_cast<float>((word & 0x807fffffu) | (exponent << 23));
    if (dice() % 500 == 0) {
      const uint32_t special[] = {0u,          0x80000000u, 1u,          0x807fffffu,
                                  0x7f800000u, 0xff800000u, 0x7fc00001u, 0xffa00000u};
      x = std::bit_cast<float>(special[dice() % 8]);
    }
  }
  return result;
}

float tree_of(const std::vector<std::vector<float>>& pieces, size_t begin, size_t n, size_t i) {
  if (n == 1) return pieces[begin][i];
  const size_t left = std::bit_floor(n - 1);
  return tree_of(pieces, begin, left, i) + tree_of(pieces, begin + left, n - left, i);
}

std::vector<std::byte> bytes_of(uint64_t seed, int from, int to, int64_t size) {
  auto dice = dice_for(seed * 4096 + static_cast<uint64_t>(to), from);
  std::vector<std::byte> result(static_cast<size_t>(size));
  for (size_t i = 0; i < result.size(); i += 8) {
    const uint64_t word = dice();
    std::memcpy(&result[i], &word, std::min<size_t>(8, result.size() - i));
  }
  return result;
}

int world_rank_in(Communicator& comm, int member) {
  const RankPlace place = place_of(layout, world->rank());
  if (&comm == &world->tp()) return rank_of(layout, place.stage, place.dp, member);
  return rank_of(layout, place.stage, member / layout.tp, member % layout.tp);
}

TEST(Ranks, GroupsAreThoseOfTheLayout) {
  const RankPlace place = place_of(layout, world->rank());
  EXPECT_EQ(world->size(), layout.world());
  EXPECT_EQ(world->tp().size(), layout.tp);
  EXPECT_EQ(world->tp().rank(), place.tp);
  EXPECT_EQ(world->stage().size(), layout.stage_ranks());
  EXPECT_EQ(world->stage().rank(), place.dp * layout.tp + place.tp);
}

TEST(Ranks, SumsHaveTheBitsOfTheTreeOnEveryRank) {
  uint64_t seed = 0;
  for (size_t count : {0u, 1u, 5u, 2048u, 4095u, 4096u, 16384u, 16385u, 40000u, 262147u}) {
    for (Communicator* comm : {&world->tp(), &world->stage()}) {
      world->begin_step(++seed);
      std::vector<std::vector<float>> pieces;
      pieces.reserve(static_cast<size_t>(comm->size()));
      for (int r = 0; r < comm->size(); ++r) {
        pieces.push_back(numbers_of(world_rank_in(*comm, r), seed, count));
      }
      std::vector<float> data = pieces[static_cast<size_t>(comm->rank())];
      comm->all_reduce_tree(data, "test sum");
      for (size_t i = 0; i < count; ++i) {
        float expected = tree_of(pieces, 0, pieces.size(), i);
        if (pieces.size() > 1 && expected != expected) {
          expected = std::numeric_limits<float>::quiet_NaN();
        }
        ASSERT_EQ(std::bit_cast<uint32_t>(data[i]), std::bit_cast<uint32_t>(expected))
            << count << " numbers, element " << i;
      }
    }
  }
}

int64_t random_size(std::mt19937_64& dice) {
  switch (dice() % 4) {
    case 0:
      return 0;
    case 1:
      return static_cast<int64_t>(dice() % 100);
    case 2:
      return static_cast<int64_t>(16384 - 2 + dice() % 5);  // around the packed limit
    default:
      return static_cast<int64_t>(dice() % 300'000);
  }
}

TEST(Ranks, GathersEveryPieceWhateverTheSizes) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    for (Communicator* comm : {&world->tp(), &world->stage()}) {
      world->begin_step(seed);
      // One and the same dice on all members of the group.
      auto dice = dice_for(seed, world_rank_in(*comm, 0));
      std::vector<int64_t> sizes(static_cast<size_t>(comm->size()));
      std::vector<std::byte> expected;
      for (int r = 0; r < comm->size(); ++r) {
        sizes[static_cast<size_t>(r)] = random_size(dice);
        const auto piece =
            bytes_of(seed, world_rank_in(*comm, r), 0, sizes[static_cast<size_t>(r)]);
        expected.insert(expected.end(), piece.begin(), piece.end());
      }
      const auto mine = bytes_of(seed, world->rank(), 0, sizes[static_cast<size_t>(comm->rank())]);
      std::vector<std::byte> all(expected.size());
      comm->all_gather(mine, sizes, all, "test gather");
      ASSERT_TRUE(all == expected) << "seed " << seed;
    }
  }
}

TEST(Ranks, AllToAllBringsEveryPieceToItsRankWhateverTheSizes) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    for (Communicator* comm : {&world->tp(), &world->stage()}) {
      world->begin_step(seed);
      const auto n = static_cast<size_t>(comm->size());
      auto dice = dice_for(seed, world_rank_in(*comm, 0));
      std::vector<int64_t> matrix(n * n);  // [from, to] bytes
      for (int64_t& size : matrix) size = random_size(dice);
      std::vector<int64_t> send_sizes(n);
      std::vector<int64_t> receive_sizes(n);
      std::vector<std::byte> send;
      std::vector<std::byte> expected;
      const auto me = static_cast<size_t>(comm->rank());
      for (size_t r = 0; r < n; ++r) {
        const int peer = world_rank_in(*comm, static_cast<int>(r));
        send_sizes[r] = matrix[me * n + r];
        receive_sizes[r] = matrix[r * n + me];
        const auto out = bytes_of(seed, world->rank(), peer, send_sizes[r]);
        const auto in = bytes_of(seed, peer, world->rank(), receive_sizes[r]);
        send.insert(send.end(), out.begin(), out.end());
        expected.insert(expected.end(), in.begin(), in.end());
      }
      std::vector<std::byte> receive(expected.size());
      comm->all_to_all(send, send_sizes, receive, receive_sizes, "test exchange");
      ASSERT_TRUE(receive == expected) << "seed " << seed;
    }
  }
}

TEST(Ranks, TransfersArriveInOrderThoughTheSenderNeverWaits) {
  const int to = (world->rank() + 1) % world->size();
  const int from = (world->rank() + world->size() - 1) % world->size();
  if (world->size() == 1) GTEST_SKIP() << "one rank has no peer";
  world->begin_step(500);
  std::vector<int64_t> sizes;
  auto dice = dice_for(77);
  sizes.reserve(50);
  for (int i = 0; i < 50; ++i) sizes.push_back(random_size(dice));
  // The first from rank 0 takes more than two chunks.
  const auto size_of = [&](size_t i, int sender) {
    return i == 0 && sender == 0 ? 140'000'000 : sizes[i];
  };
  for (size_t i = 0; i < sizes.size(); ++i) {
    std::vector<std::byte> data = bytes_of(i, world->rank(), to, size_of(i, world->rank()));
    world->send(to, data, "hidden state");
    std::fill(data.begin(), data.end(), std::byte{0});  // the copy is what travels
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    std::vector<std::byte> got(static_cast<size_t>(size_of(i, from)));
    world->receive(from, got, "hidden state");
    ASSERT_TRUE(got == bytes_of(i, from, world->rank(), size_of(i, from))) << "transfer " << i;
  }
}

// Many at once, of all sizes, from all to all, while collectives go on; then nothing is left.
TEST(Ranks, MailArrivesWholeAndInOrderFromEverySender) {
  constexpr int rounds = 60;
  const auto text_of = [](int from, int to, int i) {
    auto dice = dice_for(static_cast<uint64_t>(i), from);
    size_t size = dice() % 3000;
    if (i % 13 == 5) size = 65'530 + dice() % 12;
    if (i == 30 && from == 0 && to != 0) size = 70'000'000;
    std::string text =
        std::to_string(from) + " to " + std::to_string(to) + " no " + std::to_string(i) + " ";
    text.resize(text.size() + size, static_cast<char>('a' + i % 26));
    return text;
  };
  std::vector<int> seen(static_cast<size_t>(world->size()), 0);
  int total = 0;
  const auto take = [&](const World::Mail& mail) {
    int& next = seen[static_cast<size_t>(mail.from)];
    ASSERT_TRUE(mail.message == text_of(mail.from, world->rank(), next))
        << "mail " << next << " from rank " << mail.from;
    ++next;
    ++total;
  };
  world->begin_step(600);
  for (int i = 0; i < rounds; ++i) {
    for (int to = 0; to < world->size(); ++to) world->post(to, text_of(world->rank(), to, i));
    std::vector<float> sum(64, 1.0f);
    world->stage().all_reduce_tree(sum, "between mails");
    ASSERT_EQ(sum[63], static_cast<float>(world->stage().size()));
    while (auto mail = world->poll_mail()) take(*mail);
  }
  while (total < rounds * world->size()) {
    const auto mail = world->wait_mail(-1, std::chrono::seconds(60));
    ASSERT_TRUE(mail.has_value()) << "after " << total << " mails";
    take(*mail);
  }
  EXPECT_FALSE(world->poll_mail().has_value());
}

TEST(Ranks, WaitingForMailEndsWhenTheDescriptorIsReadableOrTimeIsUp) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_FALSE(world->wait_mail(ends[0], std::chrono::milliseconds(5)).has_value());
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  // A minute's wait that returns at once; were the descriptor not watched, the test would time out.
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(world->wait_mail(ends[0], std::chrono::minutes(1)).has_value());
  }
  close(ends[0]);
  close(ends[1]);
}

TEST(Ranks, CountersCountTheBytesSentToPeers) {
  world->begin_step(700);
  const OpCounters before = world->counters()[index_of(OpKind::all_reduce)];
  std::vector<float> data(1000, 1.0f);
  world->tp().all_reduce_tree(data, "counted");
  const OpCounters after = world->counters()[index_of(OpKind::all_reduce)];
  EXPECT_EQ(after.sent_bytes - before.sent_bytes, 4000 * (layout.tp - 1));
  EXPECT_GE(after.wait_s, before.wait_s);
  if (layout.tp > 1) {
    EXPECT_GT(world->clock().seconds()[static_cast<size_t>(StepPart::collectives)], 0.0);
  }
  world->end_step();
}

TEST(Ranks, ALayoutOfAnotherSizeIsRefused) {
  try {
    world->set_layout({world->size() + 1, 1, 1, 1}, std::chrono::seconds(1));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_THAT(error.message(), testing::HasSubstr("were started"));
  }
}

}  // namespace
}  // namespace dure

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int bells = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    (flag == "--tp"   ? dure::layout.tp
     : flag == "--pp" ? dure::layout.pp
     : flag == "--dp" ? dure::layout.dp
                      : bells) = std::atoi(argv[i + 1]);
  }
  const auto world = dure::World::start();
  dure::world = world.get();
  world->set_layout(dure::layout, std::chrono::seconds(60));
  if (bells != 0 && !dure::use_test_bells(*world, true)) world->abort(1);
  if (world->rank() != 0) {  // one rank tells the story, failures are told by all
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    struct OnlyFailures : testing::EmptyTestEventListener {
      void OnTestPartResult(const testing::TestPartResult& result) override {
        if (!result.failed()) return;
        std::fprintf(stderr, "rank %d, %s:%d: %s\n", dure::world->rank(), result.file_name(),
                     result.line_number(), result.summary());
      }
    };
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new OnlyFailures);
  }
  if (RUN_ALL_TESTS() != 0) world->abort(1);
  world->finish();
  return 0;
}
