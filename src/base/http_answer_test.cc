// Answers of servers, whole, in pieces, and broken.
#include "base/http_answer.h"

#include <gmock/gmock.h>

namespace dure {
namespace {

using State = HttpAnswerReader::State;
using ::testing::HasSubstr;

struct Read {
  HttpAnswerReader reader;
  std::string body;
};

Read read_in_pieces(std::string_view answer, size_t piece, bool closes = false) {
  Read made;
  for (size_t at = 0; at < answer.size(); at += piece) {
    made.reader.feed(answer.substr(at, piece), made.body);
  }
  if (closes) made.reader.close();
  return made;
}

TEST(HttpAnswer, IsTheSameInPiecesOfEverySize) {
  const std::string chunked =
      "HTTP/1.1 100 Continue\r\n\r\n"
      "HTTP/1.1 429 Too Many Requests\r\ncontent-TYPE: text/event-stream; x=1 \r\n"
      "Retry-After:  2.5\r\nTransfer-Encoding: Chunked\r\n\r\n"
      "5\r\nhello\r\nA;ext=1\r\n, everyone\r\n0\r\nTrailer: x\r\n\r\n";
  for (size_t piece = 1; piece <= chunked.size(); ++piece) {
    const Read read = read_in_pieces(chunked, piece);
    ASSERT_EQ(read.reader.state(), State::done) << piece << read.reader.fault();
    EXPECT_EQ(read.reader.head().status, 429);
    EXPECT_EQ(read.reader.head().content_type, "text/event-stream; x=1");
    EXPECT_EQ(read.reader.head().retry_after_s, 2.5);
    EXPECT_EQ(read.body, "hello, everyone");
    EXPECT_TRUE(read.reader.keeps_connection());
  }
}

TEST(HttpAnswer, EndsAsItSays) {
  const Read sized = read_in_pieces("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody", 3);
  EXPECT_EQ(sized.reader.state(), State::done);
  EXPECT_EQ(sized.body, "body");
  EXPECT_TRUE(sized.reader.keeps_connection());
  const Read unsized = read_in_pieces("HTTP/1.1 200 OK\n\nbody", 3, true);  // bare line feeds
  EXPECT_EQ(unsized.reader.state(), State::done);
  EXPECT_EQ(unsized.body, "body");
  EXPECT_FALSE(unsized.reader.keeps_connection());
  EXPECT_EQ(read_in_pieces("HTTP/1.1 204 No Content\r\n\r\n", 99).reader.state(), State::done);
  EXPECT_EQ(read_in_pieces("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 99).reader.state(),
            State::done);
}

TEST(HttpAnswer, KeepsNoConnectionThatItShouldNot) {
  for (const char* answer :
       {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na",
        "HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 1\r\n\r\na",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n"
        "\r\n1\r\na\r\n0\r\n\r\n"}) {
    const Read read = read_in_pieces(answer, 999);
    EXPECT_EQ(read.reader.state(), State::done) << answer;
    EXPECT_EQ(read.body, "a") << answer;
    EXPECT_FALSE(read.reader.keeps_connection()) << answer;
  }
}

TEST(HttpAnswer, ThatIsBrokenSaysWhy) {
  struct Case {
    std::string answer;
    const char* fault;
    bool has_head;
  };
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  for (const Case& broken :
       {Case{"SSH-2.0-x\r\n", "not HTTP", false}, Case{"HTTP/2 200\r\n\r\n", "not HTTP", false},
        Case{"HTTP/1.1 abc\r\n\r\n", "status line", false},
        Case{"HTTP/1.1 20\r\n\r\n", "status line", false},
        Case{"HTTP/1.1 -200 OK\r\n\r\n", "status line", false},
        Case{"HTTP/1.1\r\n\r\n", "status line", false},
        Case{ok + "Content-Length: 4x\r\n\r\n", "Content-Length", false},
        Case{ok + "Content-Length: -1\r\n\r\n", "Content-Length", false},
        Case{ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", "Content-Length", false},
        Case{ok + "Transfer-Encoding: gzip\r\n\r\n", "Transfer-Encoding", false},
        Case{ok + "A: " + std::string(70000, 'x'), "64 KiB", false},
        Case{ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "chunk", true},
        Case{ok + "Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", "chunk", true},
        Case{ok + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", "chunk", true}}) {
    for (const size_t piece : {size_t{1}, size_t{7}, size_t{100000}}) {
      const Read read = read_in_pieces(broken.answer, piece);
      EXPECT_EQ(read.reader.state(), State::broken) << broken.answer.substr(0, 60);
      EXPECT_THAT(read.reader.fault(), HasSubstr(broken.fault));
      EXPECT_EQ(read.reader.has_head(), broken.has_head);
    }
  }
}

TEST(HttpAnswer, ThatEndsTooSoonIsCut) {
  const std::string whole =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(read_in_pieces(whole.substr(0, size), 999, true).reader.state(), State::cut) << size;
  }
  EXPECT_EQ(read_in_pieces(whole, 999, true).reader.state(), State::done);
}

}  // namespace
}  // namespace dure
