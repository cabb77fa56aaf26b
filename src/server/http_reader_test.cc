// Bytes of a connection and what they are read as: every shape that two readers could take in two
// ways is refused, and how the bytes are cut into pieces changes nothing.
#include "server/http_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "server/http_head.h"
#include "server/request_id.h"

namespace dure {
namespace {

using ::testing::HasSubstr;

constexpr RequestLimits small{.max_header_bytes = 1000, .max_body_bytes = 100};

// "POST /a body|GET /b |refused 400" for bytes that come in pieces of so many.
std::string read_as(std::string_view bytes, size_t piece) {
  RequestReader reader(small);
  std::string said;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    reader.feed(bytes.substr(at, piece));
    while (reader.state() == RequestReader::State::whole) {
      const ReadRequest read = reader.take();
      said += fmt::format("{} {} {}|", read.request.method, read.request.path, read.request.body);
    }
  }
  switch (reader.state()) {
    case RequestReader::State::refused:
      return said + fmt::format("refused {}", reader.refusal().status);
    case RequestReader::State::idle:
      return said;
    default:
      return said + "waits";
  }
}

std::string read_as(std::string_view bytes) {
  const std::string whole = read_as(bytes, bytes.size());
  for (const size_t piece : {1, 2, 3, 7, 64}) EXPECT_EQ(read_as(bytes, piece), whole) << bytes;
  return whole;
}

std::string get(const std::string& fields) {
  return "GET /a HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n";
}

std::string post(const std::string& fields, const std::string& body) {
  return "POST /a HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n" + body;
}

std::string chunked(const std::string& body) {
  return post("Transfer-Encoding: chunked\r\n", body);
}

TEST(HttpReader, CutsPipelinedRequestsApart) {
  EXPECT_EQ(read_as(get("") + post("Content-Length: 2\r\n", "hi") + chunked("1\r\nx\r\n0\r\n\r\n") +
                    get("")),
            "GET /a |POST /a hi|POST /a x|GET /a |");
  EXPECT_EQ(read_as("\r\n\r\n" + get("") + "\r\n" + get("")), "GET /a |GET /a |");
  EXPECT_EQ(read_as(post("Content-Length: 2\r\n", "hiGET")), "POST /a hi|waits");
}

TEST(HttpReader, TakesTargetsInAllTheirForms) {
  const auto path = [](const char* line) {
    return read_as(std::string(line) + "\r\nHost: x\r\n\r\n");
  };
  EXPECT_EQ(path("GET /v1/models?a=b&c HTTP/1.1"), "GET /v1/models |");
  EXPECT_EQ(path("GET http://example.org/v1/models?a HTTP/1.1"), "GET /v1/models |");
  EXPECT_EQ(path("GET HTTP://example.org?a HTTP/1.1"), "GET / |");
  EXPECT_EQ(path("OPTIONS * HTTP/1.1"), "OPTIONS * |");
  EXPECT_EQ(path("HEAD /h HTTP/1.1"), "GET /h |");
  EXPECT_EQ(path("BREW /pot HTTP/1.1"), "BREW /pot |");
  for (const char* line :
       {"GET v1 HTTP/1.1", "GET ftp://x/ HTTP/1.1", "GET * HTTP/1.1", "CONNECT x:1 HTTP/1.1",
        "GET /a b HTTP/1.1", "GET /\xed\x95\x9c HTTP/1.1", "GET /\xff HTTP/1.1", "GET  HTTP/1.1",
        "GET /\t HTTP/1.1", "G(T / HTTP/1.1", "GET / http/1.1", "GET / HTTP/1.10", "GET / HTTP/1",
        "GET /", "GET", " GET / HTTP/1.1", "GET / HTTP/1.1 "}) {
    EXPECT_EQ(path(line), "refused 400") << line;
  }
  EXPECT_EQ(path("GET / HTTP/2.0"), "refused 505");
  EXPECT_EQ(path("GET / HTTP/0.9"), "refused 505");
  EXPECT_EQ(read_as("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "refused 505");
}

TEST(HttpReader, TellsWhatIsNoHttpAtItsFirstLine) {
  EXPECT_EQ(read_as("GET /\r\n"), "refused 400");             // HTTP/0.9
  EXPECT_EQ(read_as("\x16\x03\x01\x02\x01"), "refused 400");  // TLS
  EXPECT_EQ(read_as("GET / HTTP/1.1\n"), "refused 400");
  EXPECT_EQ(read_as("\n"), "refused 400");
}

TEST(HttpReader, RefusesEveryShapeThatHidesWhereARequestEnds) {
  const std::string inner = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::vector<std::string> shapes = {
      post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n" + inner),
      post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n" + inner),
      post("Content-Length: 0\r\nContent-Length: 5\r\n", inner),
      post("Content-Length: 5\r\nContent-Length: 5\r\n", inner),
      post("Content-Length: 5, 5\r\n", inner),
      post("Content-Length: +5\r\n", inner),
      post("Content-Length: -5\r\n", inner),
      post("Content-Length: 5 5\r\n", inner),
      post("Content-Length: 0x5\r\n", inner),
      post("Content-Length:\r\n", inner),
      post("Content-Length: 99999999999999999999999\r\n", inner),
      post("Content-Length : 5\r\n", inner),
      post(" Content-Length: 5\r\n", inner),
      post("X: y\r\n Content-Length: 5\r\n", inner),
      post("X: y\r\n\tz\r\n", inner),
      post("Content-Length\r\n", inner),
      post("Content Length: 5\r\n", inner),
      post(": 5\r\n", inner),
      post("Content-Length\x01: 5\r\n", inner),
      post(std::string("X: a\0b\r\n", 8), inner),
      post("X: a\rContent-Length: 5\r\n", inner),
      post("X: a\nContent-Length: 5\r\n", inner),
      post("X: a\r\r\n", inner),
      post("X: a\x7f\r\n", inner),
      post("Transfer-Encoding: gzip\r\n", inner),
      post("Transfer-Encoding: gzip, chunked\r\n", inner),
      post("Transfer-Encoding: chunked, chunked\r\n", inner),
      post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", inner),
      post("Transfer-Encoding: xchunked\r\n", inner),
      post("Transfer-Encoding: \"chunked\"\r\n", inner),
      post("Transfer-Encoding:\r\n", inner),
      post("Transfer-Encoding:\r\n chunked\r\n", inner),
      "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner,
      "GET / HTTP/1.1\r\n\r\n" + inner,
      "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + inner,
  };
  for (const std::string& shape : shapes) {
    const std::string got = read_as(shape);
    EXPECT_TRUE(got == "refused 400" || got == "refused 413") << got << "\n" << shape;
  }
}

TEST(HttpReader, ReadsChunkedBodiesAndRefusesBrokenOnes) {
  EXPECT_EQ(read_as(chunked("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")), "POST /a abcde|");
  EXPECT_EQ(read_as(chunked("A\r\n0123456789\r\n00\r\n\r\n")), "POST /a 0123456789|");
  EXPECT_EQ(read_as(chunked("3;name=value\r\nabc\r\n0\r\n\r\n")), "POST /a abc|");
  EXPECT_EQ(read_as(chunked("1\r\na\r\n0\r\nX-Sum: 1\r\n\r\n")), "POST /a a|");
  for (const std::string body :
       {"zz\r\nabc\r\n0\r\n\r\n", "ffffffffffffffffff\r\nabc", "3\r\nabcdef\r\n0\r\n\r\n",
        "-1\r\n\r\n", "+1\r\na\r\n0\r\n\r\n", "0x1\r\na\r\n0\r\n\r\n", "3\nabc\r\n0\r\n\r\n",
        "3\r\nabc\n0\r\n\r\n", "\r\n", "3 \x01\r\nabc\r\n0\r\n\r\n"}) {
    const std::string got = read_as(chunked(body));
    EXPECT_TRUE(got == "refused 400" || got == "refused 413") << got << ": " << body;
  }
  EXPECT_EQ(read_as(chunked("1;" + std::string(5000, 'e'))), "refused 400");
  EXPECT_EQ(read_as(chunked("0\r\n" + std::string(5000, 'e'))), "refused 400");
}

TEST(HttpReader, KeepsTrailersOutOfTheRequest) {
  RequestReader reader(small);
  reader.feed(chunked("0\r\nAuthorization: Bearer secret\r\nX-Request-Id: late\r\n\r\n"));
  ASSERT_EQ(reader.state(), RequestReader::State::whole);
  const HttpRequest request = reader.take().request;
  EXPECT_EQ(request.authorization, "");
  EXPECT_NE(request.id, "late");
}

TEST(HttpReader, HoldsHeadsAndBodiesToTheirLimits) {
  EXPECT_EQ(read_as(get("X: " + std::string(2000, 'x') + "\r\n")), "refused 431");
  EXPECT_EQ(read_as("GET /" + std::string(2000, 'x')), "refused 414");
  EXPECT_EQ(read_as(std::string(2000, 'x')), "refused 414");
  EXPECT_EQ(read_as(post("Content-Length: 101\r\n", "")), "refused 413");
  EXPECT_EQ(read_as(chunked("65\r\n" + std::string(101, 'x') + "\r\n0\r\n\r\n")), "refused 413");
  EXPECT_EQ(read_as(chunked("ffffffff\r\n")), "refused 413");
  EXPECT_EQ(read_as(post("Content-Length: 100\r\n", std::string(100, 'x'))),
            "POST /a " + std::string(100, 'x') + "|");
  std::string fields;
  for (int i = 0; i <= max_header_fields; ++i) fields += "a:b\r\n";
  EXPECT_EQ(read_as(get(fields)), "refused 431");
}

TEST(HttpReader, RefusesWhatItCannotUnderstandWithItsOwnStatus) {
  EXPECT_EQ(read_as(post("Expect: the-unexpected\r\n", "")), "refused 417");
  EXPECT_EQ(read_as(post("Content-Encoding: gzip\r\nContent-Length: 1\r\n", "x")), "refused 415");
  EXPECT_EQ(read_as(post("Content-Encoding: identity\r\nContent-Length: 1\r\n", "x")),
            "POST /a x|");
  EXPECT_EQ(read_as(get("Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n")),
            "GET /a |");
}

TEST(HttpReader, KnowsWhenAConnectionGoesOn) {
  const auto lives = [](const std::string& head) {
    RequestReader reader(small);
    reader.feed(head);
    return reader.take().keep_alive;
  };
  EXPECT_TRUE(lives(get("")));
  EXPECT_FALSE(lives(get("Connection: close\r\n")));
  EXPECT_FALSE(lives("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(lives("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

TEST(HttpReader, AsksForTheBodyOnceWhereTheClientWaitsToBeAsked) {
  RequestReader reader(small);
  reader.feed(post("Expect: 100-continue\r\nContent-Length: 2\r\n", ""));
  EXPECT_TRUE(reader.wants_continue());
  EXPECT_FALSE(reader.wants_continue());
  reader.feed("ok");
  EXPECT_EQ(reader.take().request.body, "ok");
  // One that sent it without waiting needs no word.
  reader.feed(post("Expect: 100-continue\r\nContent-Length: 2\r\n", "ok"));
  EXPECT_FALSE(reader.wants_continue());
}

TEST(HttpReader, TakesTheClientsRequestIdOnlyWhereItCanBeOne) {
  const auto id_of = [](const std::string& fields) {
    RequestReader reader(small);
    reader.feed(get(fields));
    return reader.take().request.id;
  };
  EXPECT_EQ(id_of("X-Request-Id: abc-1.2:3/x+y=@_\r\n"), "abc-1.2:3/x+y=@_");
  EXPECT_EQ(id_of("x-request-id:   padded  \r\n"), "padded");
  for (const std::string bad :
       {std::string(), std::string("a b"), std::string("a\"b"), std::string("\xc3\xa9"),
        std::string("<script>"), std::string(129, 'a')}) {
    const std::string id = id_of("X-Request-Id: " + bad + "\r\n");
    EXPECT_EQ(id.size(), 32u) << bad;
    EXPECT_TRUE(is_request_id(id));
  }
  EXPECT_NE(id_of(""), id_of(""));
}

// Mutated requests, in two cuts: the same requests and refusals come out of both.
TEST(HttpReader, ReadsAnyBytesAlikeHoweverTheyAreCut) {
  std::mt19937 random(20);
  const std::string seed = get("X-Request-Id: a\r\n") + post("Content-Length: 3\r\n", "abc") +
                           chunked("2;e\r\nhi\r\n0\r\nT: u\r\n\r\n");
  const std::string_view bytes_of_trouble("\r\n \t:;,0a\0\x80", 11);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = seed;
    for (int i = 0; i < 3; ++i) {
      const size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0:
          bytes[at] = bytes_of_trouble[random() % bytes_of_trouble.size()];
          break;
        case 1:
          bytes.erase(at, 1 + random() % 5);
          break;
        default:
          bytes.insert(at, 1, bytes_of_trouble[random() % bytes_of_trouble.size()]);
      }
    }
    const std::string whole = read_as(bytes, bytes.size());
    EXPECT_EQ(read_as(bytes, 1 + random() % 20), whole) << bytes;
    EXPECT_EQ(read_as(bytes, 1), whole) << bytes;
  }
}

}  // namespace
}  // namespace dure
