// What a client that does not read may cost, and whom.
#include "server/outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dure {
namespace {

using ::testing::HasSubstr;

OutboxOptions with_bound(size_t bytes) {
  OutboxOptions options;
  options.max_pending = bytes;
  return options;
}

std::shared_ptr<Outbox> outbox_of(const std::shared_ptr<SharedBytes>& all, size_t bound) {
  return std::make_shared<Outbox>(with_bound(bound), all, [] {});
}

TEST(Outbox, CutsOffAStreamThatFallsBehindItsBound) {
  auto all = std::make_shared<SharedBytes>(1 << 20);
  auto outbox = outbox_of(all, 4096);
  bool closed = false;
  outbox->start_stream();
  outbox->when_closed([&] { closed = true; });
  for (int i = 0; i < 100 && !closed; ++i) {
    EXPECT_LE(all->held(), 4096u + 64u);
    outbox->write(std::string(100, 'x'));
  }
  EXPECT_TRUE(closed);
  EXPECT_TRUE(outbox->is_closed() && outbox->fell_behind());
  EXPECT_EQ(all->held(), 0u);
}

TEST(Outbox, CountsWhatIsBeingSentAsUnsent) {
  auto all = std::make_shared<SharedBytes>(1 << 20);
  auto outbox = outbox_of(all, 4096);
  outbox->start_stream();
  outbox->write(std::string(3000, 'x'));
  const Outbox::Batch sending = outbox->take();
  EXPECT_GT(sending.bytes.size(), 3000u);
  outbox->write(std::string(500, 'x'));
  EXPECT_FALSE(outbox->is_closed());
  outbox->write(std::string(2000, 'x'));
  EXPECT_TRUE(outbox->is_closed());
}

TEST(Outbox, ABoundOverAllCutsOffWhoIsBehindMostAndNobodyElse) {
  auto all = std::make_shared<SharedBytes>(10'000);
  auto greedy = outbox_of(all, 1 << 20);
  std::vector<std::shared_ptr<Outbox>> others;
  greedy->start_stream();
  for (int i = 0; i < 4; ++i) {
    others.push_back(outbox_of(all, 1 << 20));
    others.back()->start_stream();
    others.back()->write("a token");
  }
  for (int i = 0; i < 200; ++i) {
    greedy->write(std::string(100, 'x'));
    for (const auto& other : others) {
      other->write("a token");
      other->take();  // they read
      EXPECT_FALSE(other->is_closed());
    }
  }
  EXPECT_TRUE(greedy->fell_behind());
  EXPECT_LT(all->held(), 10'000u);
}

TEST(Outbox, AWholeAnswerThatFindsNoRoomBecomesA503) {
  auto all = std::make_shared<SharedBytes>(1000);
  auto unread = outbox_of(all, 1 << 20);
  HttpResponse response;
  response.body = std::string(900, 'x');
  unread->reply(response);
  auto second = outbox_of(all, 1 << 20);
  second->reply(response);
  EXPECT_EQ(second->status(), 503);
  EXPECT_THAT(second->take().bytes, HasSubstr("Retry-After"));
  EXPECT_EQ(unread->status(), 200);
}

TEST(Outbox, GivesEverythingBackWhenItGoes) {
  auto all = std::make_shared<SharedBytes>(1 << 20);
  {
    auto outbox = outbox_of(all, 4096);
    outbox->start_stream();
    outbox->write("text");
    EXPECT_GT(all->held(), 0u);
  }
  EXPECT_EQ(all->held(), 0u);
}

}  // namespace
}  // namespace dure
