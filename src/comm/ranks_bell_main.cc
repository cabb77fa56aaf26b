// Ranks that sleep while they wait for mail: run under mpirun. Arguments: "all", "some" or "no" for
// who has a doorbell, then gtest's. A failed check on any rank fails the run.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "comm/communicator.h"
#include "comm/test_bells.h"

namespace dure {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;

World* world = nullptr;
std::string_view bells;

void meet() {
  std::vector<float> one(1, 1.0f);
  world->tp().all_reduce_tree(one, "meeting");
}

int64_t sleeps_of_this_thread() {
  rusage usage{};
  EXPECT_EQ(getrusage(RUSAGE_THREAD, &usage), 0);
  return usage.ru_nvcsw;
}

TEST(Bells, LetAnIdleRankSleepUntilItsMailComes) {
  meet();
  const int64_t before = sleeps_of_this_thread();
  if (world->rank() == 0) {
    EXPECT_FALSE(world->wait_mail(-1, milliseconds(400)).has_value());
    for (int to = 1; to < world->size(); ++to) world->post(to, "good morning");
  } else {
    const auto mail = world->wait_mail(-1, minutes(1));
    ASSERT_TRUE(mail.has_value());
    EXPECT_EQ(mail->message, "good morning");
  }
  // Naps alone would be two thousand.
  if (bells == "all") EXPECT_LT(sleeps_of_this_thread() - before, 100);
}

// Tokens go round, handed on after no pause, a pause about as long as ranks look before they sleep,
// or a long one; every hop but the first finds sleepers, if the tokens are few. The sleeps of this
// program do not end by themselves: one lost wake-up leaves a token where it is.
void send_tokens_round(int tokens, int rounds) {
  const int hops = rounds * world->size();  // of each token; every rank sees it `rounds` times
  const int next = (world->rank() + 1) % world->size();
  std::mt19937_64 dice(static_cast<uint64_t>(tokens * 1000 + world->rank()));
  const auto hand_on = [&](int hop) {
    const uint64_t pause = dice() % 4;
    if (pause > 0) std::this_thread::sleep_for(microseconds(dice() % (pause == 1 ? 2000 : 400)));
    std::string text = std::to_string(hop) + " ";
    // Some too long for one message, which the receiver must be awake to fetch.
    text.resize(text.size() + (dice() % 16 == 0 ? dice() % 200'000 : dice() % 6000), 'x');
    world->post(next, std::move(text));
  };
  meet();
  if (world->rank() < tokens) hand_on(0);
  for (int seen = 0; seen < rounds * tokens; ++seen) {
    const auto mail = world->wait_mail(-1, minutes(1));
    ASSERT_TRUE(mail.has_value()) << "after " << seen << " mails";
    const int hop = std::atoi(mail->message.c_str());
    if (hop + 1 < hops) hand_on(hop + 1);
  }
}

TEST(Bells, WakeTheNextRankWhileAllOthersSleep) {
  send_tokens_round(1, 300);
}

TEST(Bells, WakeRanksWhetherTheySleepOrAreAboutTo) {
  send_tokens_round(std::max(1, world->size() / 2), 300);
  send_tokens_round(world->size(), 200);
}

// More mail than MPI takes at once, from a rank that then looks away and begins a step, in which it
// asks after its mail no more: what goes out only then must wake the receiver, too.
TEST(Bells, WakeForMailThatGoesOutOnlyWithinALaterStep) {
  constexpr int mails = 600;
  const int last = world->size() - 1;
  if (last == 0) GTEST_SKIP() << "one rank has no peer";
  for (int round = 0; round < 10; ++round) {
    meet();
    if (world->rank() == 0) {
      for (int i = 0; i < mails; ++i)
        world->post(last, std::string(50 * static_cast<size_t>(i), 'y'));
      std::this_thread::sleep_for(milliseconds(10));
    } else if (world->rank() == last) {
      for (int i = 0; i < mails; ++i) {
        const auto mail = world->wait_mail(-1, minutes(1));
        ASSERT_TRUE(mail.has_value()) << "after " << i << " mails";
        ASSERT_EQ(mail->message.size(), 50 * static_cast<size_t>(i));
      }
    }
  }
  meet();
}

// Long messages need their sender while they travel; it waits for an answer, but must not sleep.
TEST(Bells, LeaveASenderAwakeWhileItsMessagesTravel) {
  const int last = world->size() - 1;
  if (last == 0) GTEST_SKIP() << "one rank has no peer";
  const std::string text(3'000'000, 'z');
  std::vector<std::byte> data(3'000'000);
  for (int round = 0; round < 10; ++round) {
    world->begin_step(static_cast<uint64_t>(round));
    if (world->rank() == 0) {
      world->send(last, data, "hidden state");
      ASSERT_TRUE(world->wait_mail(-1, minutes(1)).has_value()) << "round " << round;
      world->post(last, text);
      ASSERT_TRUE(world->wait_mail(-1, minutes(1)).has_value()) << "round " << round;
    } else if (world->rank() == last) {
      std::this_thread::sleep_for(milliseconds(5));
      world->receive(0, data, "hidden state");
      world->post(0, "got it");
      std::this_thread::sleep_for(milliseconds(5));
      const auto mail = world->wait_mail(-1, minutes(1));
      ASSERT_TRUE(mail.has_value() && mail->message == text) << "round " << round;
      world->post(0, "got it");
    }
  }
}

TEST(Bells, LeaveTheDescriptorItsRights) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  meet();
  if (world->rank() == 0) {
    EXPECT_FALSE(world->wait_mail(ends[0], milliseconds(5)).has_value());
    ASSERT_EQ(write(ends[1], "x", 1), 1);
    EXPECT_FALSE(world->wait_mail(ends[0], minutes(1)).has_value());
    for (int to = 1; to < world->size(); ++to) world->post(to, "go on");
  } else {
    ASSERT_TRUE(world->wait_mail(ends[0], minutes(1)).has_value());
  }
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace dure

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  dure::bells = argc > 1 ? argv[1] : "all";
  const auto world = dure::World::start();
  dure::world = world.get();
  world->set_layout({world->size(), 1, 1, 1}, std::chrono::seconds(60));
  // One rank that cannot have a bell is enough for none to sleep.
  if (dure::bells != "no" &&
      dure::use_test_bells(*world, dure::bells == "all") != (dure::bells == "all")) {
    std::fprintf(stderr, "doorbells are in use only on some ranks, or not at all\n");
    world->abort(1);
  }
  if (RUN_ALL_TESTS() != 0) world->abort(1);
  world->finish();
  return 0;
}
