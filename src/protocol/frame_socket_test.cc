// Frames arrive whole and in order however the stream is cut; limits, closes and deadlines are
// errors, never hangs.
#include "protocol/frame_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <random>
#include <string>
#include <thread>

#include "base/error.h"

namespace dure {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct Pair {
  Pair() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    a = Descriptor(ends[0]);
    b = Descriptor(ends[1]);
  }
  Descriptor a;
  Descriptor b;
};

std::string raw_frame(std::string_view body) {
  const auto length = static_cast<uint32_t>(body.size());
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + std::string(body);
}

std::string text_of(const Frame& frame) {
  return {reinterpret_cast<const char*>(frame.data()), frame.size()};
}

template <typename Call>
std::string failure(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(FrameReader, GivesTheSameFramesForAnyCutOfTheStream) {
  std::mt19937 dice(7);
  std::vector<std::string> bodies;
  std::string stream;
  for (size_t i = 0; i < 200; ++i) {
    bodies.emplace_back(1 + dice() % 300, static_cast<char>('a' + i % 26));
    stream += raw_frame(bodies.back());
  }
  for (size_t largest : {1u, 3u, 64u, 1000u, 100000u}) {
    FrameReader reader;
    std::vector<std::string> got;
    for (size_t at = 0; at < stream.size();) {
      const size_t n = std::min(stream.size() - at, 1 + dice() % largest);
      reader.feed(std::as_bytes(std::span(stream).subspan(at, n)));
      at += n;
      while (auto frame = reader.next()) got.push_back(text_of(*frame));
    }
    EXPECT_EQ(got, bodies);
    EXPECT_FALSE(reader.mid_frame());
  }
}

TEST(FrameReader, RefusesEmptyAndOversizedFramesByTheirHeaderAlone) {
  const auto feed = [](uint32_t length) {
    FrameReader reader(1000);
    reader.feed(std::as_bytes(std::span(&length, 1)));
  };
  EXPECT_THAT(failure([&] { feed(0); }), testing::HasSubstr("frame of 0 bytes"));
  EXPECT_THAT(failure([&] { feed(1001); }), testing::HasSubstr("frame of 1001 bytes"));
  EXPECT_EQ(failure([&] { feed(1000); }), "");
}

TEST(FrameSocket, CarriesFramesLargerThanTheSocketsBuffer) {
  Pair pair;
  const std::string body(5'000'000, 'x');
  std::thread sender([&] {
    send_frame(pair.a.get(), raw_frame(body));
    send_frame(pair.a.get(), raw_frame("tail"));
  });
  FrameReader reader;
  const auto first = receive_frame(pair.b.get(), reader);
  const auto second = receive_frame(pair.b.get(), reader);
  sender.join();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->size(), body.size());
  EXPECT_EQ(text_of(*second), "tail");
}

TEST(FrameSocket, ACloseBetweenFramesIsAnEndAndWithinOneAnError) {
  Pair pair;
  send_frame(pair.a.get(), raw_frame("last"));
  pair.a.reset();
  FrameReader reader;
  EXPECT_EQ(text_of(receive_frame(pair.b.get(), reader).value()), "last");
  EXPECT_FALSE(receive_frame(pair.b.get(), reader).has_value());

  Pair cut;
  ASSERT_EQ(send(cut.a.get(), "\x09\0\0\0abc", 7, 0), 7);
  cut.a.reset();
  FrameReader cut_reader;
  EXPECT_THAT(failure([&] { receive_frame(cut.b.get(), cut_reader); }),
              testing::HasSubstr("closed in the middle"));
}

TEST(FrameSocket, ASilentPeerMeetsTheDeadline) {
  Pair pair;
  FrameReader reader;
  EXPECT_THAT(
      failure([&] { receive_frame(pair.b.get(), reader, steady_clock::now() + milliseconds(20)); }),
      testing::HasSubstr("deadline passed"));
  EXPECT_THAT(failure([&] {
                send_frame(pair.a.get(), raw_frame(std::string(50'000'000, 'x')),
                           steady_clock::now() + milliseconds(20));
              }),
              testing::HasSubstr("deadline passed"));
}

TEST(FrameSocket, SendingToAClosedPeerIsAnErrorNotASignal) {
  Pair pair;
  pair.b.reset();
  EXPECT_THAT(failure([&] { send_frame(pair.a.get(), raw_frame("x")); }),
              testing::HasSubstr("sending a message: Broken pipe"));
}

TEST(FrameSocket, ConnectsByPath) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("frame_socket_test." + std::to_string(getpid()));
  Descriptor listening = listen_at(path);
  Descriptor client = connect_to(path);
  Descriptor server(accept(listening.get(), nullptr, nullptr));
  ASSERT_TRUE(server);
  send_frame(client.get(), encode(ToRanks(AskStats{})));
  FrameReader reader;
  const auto frame = receive_frame(server.get(), reader);
  ASSERT_TRUE(frame);
  EXPECT_TRUE(std::holds_alternative<AskStats>(decode_to_ranks(*frame)));
  std::filesystem::remove(path);
  EXPECT_THAT(failure([&] { connect_to(path); }), testing::HasSubstr(path.string()));
  EXPECT_THAT(failure([&] { listen_at(std::string(200, 'x')); }), testing::HasSubstr("longer"));
}

}  // namespace
}  // namespace dure
