// Messages of traces and of a group's end: every field travels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "protocol/messages.h"

namespace dure {
namespace {

using testing::ElementsAre;

template <class Message>
Message through_the_wire(const Message& message) {
  const std::string frame = encode(FromRanks(message));
  return std::get<Message>(
      decode_from_ranks(std::as_bytes(std::span(frame)).subspan(sizeof(uint32_t))));
}

TEST(Messages, TellWhereAndOfWhatAGroupEnded) {
  GroupFailed failed{3, 1, "no", "try"};
  failed.cause = EndCause::lost_connection;
  failed.pid = 4711;
  failed.host = "node1";
  failed.where = {7, 5, "all-reduce of attention output"};
  const GroupFailed got = through_the_wire(failed);
  EXPECT_EQ(got.cause, EndCause::lost_connection);
  EXPECT_EQ(got.pid, 4711);
  EXPECT_EQ(got.host, "node1");
  EXPECT_EQ(got.where.step, 7);
  EXPECT_EQ(got.where.layer, 5);
  EXPECT_EQ(got.where.operation, "all-reduce of attention output");
}

TEST(Messages, BringSpansWithTheirNames) {
  RankSpans told;
  told.rank = 2;
  told.lost = 9;
  told.names = {"step", "attention"};
  Span span;
  span.step = 7;
  span.begin_ns = -5;
  span.length_ns = 6;
  span.bytes = 8;
  span.layer = 3;
  span.name = 1;
  span.part = StepPart::sampling;
  told.spans = {Span(), span};
  const RankSpans got = through_the_wire(told);
  EXPECT_EQ(got.rank, 2);
  EXPECT_EQ(got.lost, 9);
  EXPECT_THAT(got.names, ElementsAre("step", "attention"));
  ASSERT_EQ(got.spans.size(), 2u);
  EXPECT_EQ(got.spans[1].step, 7u);
  EXPECT_EQ(got.spans[1].begin_ns, -5);
  EXPECT_EQ(got.spans[1].length_ns, 6);
  EXPECT_EQ(got.spans[1].bytes, 8);
  EXPECT_EQ(got.spans[1].layer, 3);
  EXPECT_EQ(got.spans[1].name, 1);
  EXPECT_EQ(got.spans[1].part, StepPart::sampling);
}

TEST(Messages, AskForClocksAndTellThem) {
  const std::string frame = encode(ToRanks(AskClock{}));
  EXPECT_TRUE(std::holds_alternative<AskClock>(
      decode_to_ranks(std::as_bytes(std::span(frame)).subspan(sizeof(uint32_t)))));
  const ClockTold got = through_the_wire(ClockTold{2, -3, 4});
  EXPECT_EQ(got.rank, 2);
  EXPECT_EQ(got.ns, -3);
  EXPECT_EQ(got.within_ns, 4);
}

TEST(Messages, RefuseACauseThatNobodySends) {
  GroupFailed failed{3, 1, "no", "try"};
  std::string frame = encode(FromRanks(failed)).substr(sizeof(uint32_t));
  const size_t cause = 1 + 4 + 1 + 4 + 2 + 4 + 3;  // behind kind, rank, code, message, hint
  ASSERT_EQ(frame[cause], '\0');
  frame[cause] = static_cast<char>(end_causes);
  EXPECT_THROW((void)decode_from_ranks(std::as_bytes(std::span(frame))), Error);
  for (size_t i = 0; i < end_causes; ++i) {
    EXPECT_NE(to_string(static_cast<EndCause>(i)), "");
  }
}

}  // namespace
}  // namespace dure
