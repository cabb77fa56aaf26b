#include "cost/users.h"

#include <gmock/gmock.h>

#include <limits>
#include <vector>

#include "base/error.h"
#include "model/testing.h"

namespace dure {
namespace {

using testing::error_of;

constexpr Capacity capacity{.output_tokens_per_s = 3000, .ttft = 1.0, .tpot = 0.025};

TEST(Users, AreTokensOfTheClusterOverTokensOfOne) {
  EXPECT_DOUBLE_EQ(concurrent_users(3000, 40), 75);
  EXPECT_DOUBLE_EQ(concurrent_users(50'000, 20), 2500);
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(error_of([&] { concurrent_users(bad, 40); }).code(), ErrorCode::bad_input) << bad;
    EXPECT_EQ(error_of([&] { concurrent_users(3000, bad); }).code(), ErrorCode::bad_input) << bad;
  }
}

// An answer takes 1 + 400 × 0.025 = 11 s, a cycle 101 s: 400 / 101 tokens/s a seat.
TEST(Users, AreFewerThanSeatsByTheTimeThatTheyThink) {
  const std::vector<SeatKind> chat = {{.output_tokens = 400, .think_seconds = 90}};
  const Seats seats = seats_of(chat, capacity);
  EXPECT_NEAR(seats.seats, 757.5, 1e-9);
  EXPECT_NEAR(seats.requests_per_s, 7.5, 1e-9);
  EXPECT_NEAR(seats.in_flight, 82.5, 1e-9);
  EXPECT_NEAR(seats.decoding, 75, 1e-9);
  EXPECT_NEAR(seats.seats_per_request_in_flight, 101.0 / 11.0, 1e-9);
}

// 12 requests of 800 tokens an hour: one each 300 s, of which its answer takes 21.
TEST(Users, MayBeGivenByTheirRate) {
  const std::vector<SeatKind> kinds = {{.output_tokens = 800, .requests_per_hour = 12}};
  const Seats seats = seats_of(kinds, capacity);
  EXPECT_NEAR(seats.seats, 1125, 1e-9);
  EXPECT_NEAR(seats.requests_per_s, 3.75, 1e-9);
  EXPECT_NEAR(seats.in_flight, 78.75, 1e-9);
}

// Of four seats three chat and one is an agent that never stops: 0.75 × 400 / 101 + 0.25 × 2000 /
// 51 = 12.7742 tokens/s a seat. As many heads as in the first test need four times the cluster.
TEST(Users, DependOnTheirWorkAndNotOnTheirNumber) {
  const std::vector<SeatKind> kinds = {{.share = 0.75, .output_tokens = 400, .think_seconds = 90},
                                       {.share = 0.25, .output_tokens = 2000}};
  const Seats seats = seats_of(kinds, capacity);
  EXPECT_NEAR(seats.seats, 234.848, 1e-3);
  EXPECT_NEAR(seats.in_flight, 234.848 * (0.75 * 11 / 101 + 0.25), 1e-3);
  EXPECT_NEAR(seats.decoding, 75, 1e-9);
}

TEST(Users, AreRefusedWhereTheyMakeNoSense) {
  const auto refused = [](const SeatKind& kind) {
    return error_of([&] { seats_of(std::vector{kind}, capacity); }).code() == ErrorCode::bad_input;
  };
  EXPECT_TRUE(refused({.share = 0.5, .output_tokens = 400}));
  EXPECT_TRUE(refused({.share = -1, .output_tokens = 400}));
  EXPECT_TRUE(refused({.output_tokens = 0}));
  EXPECT_TRUE(refused({.output_tokens = 400, .think_seconds = -1}));
  EXPECT_TRUE(refused({.output_tokens = 400, .requests_per_hour = 0}));
  EXPECT_TRUE(refused({.output_tokens = 400, .requests_per_hour = 12, .think_seconds = 5}));
  const Error rate = error_of([] {
    seats_of(std::vector{SeatKind{.output_tokens = 400, .requests_per_hour = 400}}, capacity);
  });
  EXPECT_THAT(rate.message(), ::testing::HasSubstr("at most 327 in an hour"));
  EXPECT_EQ(error_of([] { seats_of({}, capacity); }).code(), ErrorCode::bad_input);
}

}  // namespace
}  // namespace dure
