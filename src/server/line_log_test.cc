// A log that cannot be written must cost nobody anything but its lines.
#include "server/line_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/descriptor.h"
#include "base/json.h"
#include "server/access_log.h"

namespace dure {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Warnings {
  std::mutex mutex;
  std::vector<std::string> said;
  std::function<void(const std::string&)> hear() {
    return [this](const std::string& what) {
      const std::lock_guard lock(mutex);
      said.push_back(what);
    };
  }
};

struct Pipe {
  Pipe() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    reader = Descriptor(ends[0]);
    writer = Descriptor(ends[1]);
  }
  Descriptor reader;
  Descriptor writer;
};

TEST(LineLog, WritesWholeLinesInOrder) {
  Pipe pipe;
  Warnings warnings;
  {
    LineLog log(pipe.writer.get(), warnings.hear());
    for (const char* line : {"one", "two", "three"}) log.add(line);
  }
  char bytes[100];
  const ssize_t got = ::read(pipe.reader.get(), bytes, sizeof(bytes));
  EXPECT_EQ(std::string(bytes, static_cast<size_t>(got)), "one\ntwo\nthree\n");
  EXPECT_THAT(warnings.said, ElementsAre());
}

TEST(LineLog, SaysOnceThatTheDiskIsFull) {
  const Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full);
  Warnings warnings;
  {
    LineLog log(full.get(), warnings.hear());
    for (int i = 0; i < 100; ++i) log.add("line");
  }
  EXPECT_THAT(warnings.said, ElementsAre(HasSubstr("No space left on device")));
}

TEST(LineLog, SaysOnceThatNobodyReadsAPipeAndKeepsNobodyWaiting) {
  std::signal(SIGPIPE, SIG_IGN);
  Warnings warnings;
  Pipe closed;
  closed.reader.reset();
  {
    LineLog log(closed.writer.get(), warnings.hear());
    for (int i = 0; i < 100; ++i) log.add("line");
  }
  EXPECT_THAT(warnings.said, ElementsAre(HasSubstr("Broken pipe")));

  Pipe stuck;  // open, and never read
  {
    LineLog log(stuck.writer.get(), warnings.hear());
    for (int i = 0; i < 5000; ++i) log.add(std::string(1000, 'x'));
    EXPECT_GT(log.lost(), 0);  // what it keeps is bounded
  }
  SUCCEED() << "neither add() nor the end waited for a reader";
}

TEST(AccessLog, WritesOneLineOfJsonWhateverARequestHolds) {
  AccessRecord record;
  record.begun =
      std::chrono::system_clock::time_point(std::chrono::milliseconds(1'700'000'000'123));
  record.id = "abc";
  record.client = "127.0.0.1:5";
  record.method = "GET";
  record.path = "/a\"\n\xff" + std::string(2000, 'x');
  record.status = 404;
  record.total_s = 0.25;
  const std::string line = access_line(record);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_LT(line.size(), 1000u);
  const Json json = Json::parse(line);
  EXPECT_EQ(json["time"], "2023-11-14T22:13:20.123Z");
  EXPECT_EQ(json["request_id"], "abc");
  EXPECT_EQ(json["status"], 404);
  EXPECT_EQ(json["total_s"], 0.25);
}

}  // namespace
}  // namespace dure
