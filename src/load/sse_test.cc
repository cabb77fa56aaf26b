// Events come out the same however the bytes were cut.
#include "load/sse.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace dure::load {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Events = std::vector<std::string>;

Events feed_all(std::initializer_list<std::string_view> pieces) {
  SseParser parser;
  Events events;
  for (const std::string_view piece : pieces) {
    EXPECT_TRUE(parser.feed(piece, [&](std::string_view data) {
      events.emplace_back(data);
      return true;
    }));
  }
  return events;
}

TEST(Sse, EventsAreTheSameOverEveryCuttingInThree) {
  const std::string stream =
      "\xEF\xBB\xBF: a comment\r\n"
      "data: {\"a\": 1}\n\n"
      "event: x\rdata:two\rdata: lines\r\r"
      "id: 7\n\n"
      "data\n\n"
      "data:  \xEA\xB0\x80 \r\n\r\n"
      "data: [DONE]\n\n";
  const Events whole = feed_all({stream});
  EXPECT_THAT(whole, ElementsAre("{\"a\": 1}", "two\nlines", "", " \xEA\xB0\x80 ", "[DONE]"));
  const std::string_view text = stream;
  for (size_t i = 0; i <= text.size(); ++i) {
    for (size_t j = i; j <= text.size(); ++j) {
      ASSERT_EQ(feed_all({text.substr(0, i), text.substr(i, j - i), text.substr(j)}), whole)
          << i << " " << j;
    }
  }
}

TEST(Sse, EventsAreTheSameByteByByte) {
  const std::string stream = "data: a\r\n\r\ndata: b\r\rdata: c\n\n";
  SseParser parser;
  Events events;
  for (const char& byte : stream) {
    parser.feed({&byte, 1}, [&](std::string_view data) {
      events.emplace_back(data);
      return true;
    });
  }
  EXPECT_THAT(events, ElementsAre("a", "b", "c"));
}

TEST(Sse, AnEventWithoutItsBlankLineIsNone) {
  EXPECT_THAT(feed_all({"data: a\n"}), IsEmpty());
}

TEST(Sse, StopsWhereToldTo) {
  SseParser parser;
  int seen = 0;
  EXPECT_FALSE(parser.feed("data: a\n\ndata: b\n\n", [&](std::string_view) { return ++seen < 1; }));
  EXPECT_EQ(seen, 1);
}

TEST(Sse, RefusesAnEventWithoutEnd) {
  SseParser parser;
  const std::string piece(1 << 20, 'x');
  const auto flood = [&] {
    for (int i = 0; i < 17; ++i) parser.feed(piece, [](std::string_view) { return true; });
  };
  EXPECT_THROW(flood(), Error);
}

}  // namespace
}  // namespace dure::load
