// The file is read back as JSON, at every moment and however it ended.
#include "trace/trace_file.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace dure {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class TraceFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("dure-trace-test-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path path() const { return folder_ / "trace.json"; }
  nlohmann::json events() const {
    std::ifstream file(path());
    return nlohmann::json::parse(file)["traceEvents"];
  }
  TraceOptions options() {
    return {path(), int64_t{1} << 30, [this](const Event& event) { said_.push_back(event); }};
  }
  fs::path folder_;
  std::vector<Event> said_;  // read after the file's end
};

Span span_of(uint64_t step, int64_t begin, int64_t length, StepPart part) {
  Span span;
  span.step = step;
  span.begin_ns = begin;
  span.length_ns = length;
  span.part = part;
  return span;
}

TEST_F(TraceFileTest, LeavesAnotherServersFileAsItIs) {
  TraceFile trace(options());
  trace.rank(0, "rank 0 on here");
  try {
    TraceFile second(options());
    FAIL() << "two wrote one file";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("another process writes it"));
  }
  EXPECT_FALSE(events().empty());
}

TEST_F(TraceFileTest, HoldsRanksStepsSpansAndMarks) {
  {
    TraceFile trace(options());
    trace.rank(2, "rank 2 on \"a\\b\"");
    trace.step({7, 5'000, 9'001, 1, "decode", 3, 4});
    Span span = span_of(7, 6'000, 1'234, StepPart::collectives);
    span.layer = 3;
    span.bytes = 4096;
    trace.spans(2, {"all-reduce of attention output"}, {span}, 0);
    trace.mark({Level::error, "group_died", "gone"});
  }
  const nlohmann::json all = events();
  ASSERT_EQ(all.size(), 7u);  // two of each process
  EXPECT_EQ(all[0]["args"]["name"], "dure serve");
  EXPECT_EQ(all[2]["args"]["name"], "rank 2 on \"a\\b\"");
  EXPECT_EQ(all[4]["name"], "step (decode)");
  EXPECT_EQ(all[4]["args"]["tokens"], 4);
  EXPECT_NEAR(all[4]["dur"].get<double>(), 4.001, 1e-9);
  EXPECT_EQ(all[5]["name"], "all-reduce of attention output");
  EXPECT_EQ(all[5]["cat"], "collectives");
  EXPECT_EQ(all[5]["pid"], all[2]["pid"]);
  EXPECT_NEAR(all[5]["ts"].get<double>() - all[4]["ts"].get<double>(), 1.0, 1e-6);
  EXPECT_EQ(all[5]["args"]["layer"], 3);
  EXPECT_EQ(all[5]["args"]["bytes"], 4096);
  EXPECT_EQ(all[6]["ph"], "i");
  EXPECT_EQ(all[6]["args"]["message"], "gone");
  EXPECT_TRUE(said_.empty());
}

TEST_F(TraceFileTest, IsWholeBeforeItEnds) {
  TraceFile trace(options());
  EXPECT_EQ(events().size(), 2u);
  for (int round = 1; round <= 20; ++round) {
    trace.spans(0, {"x"}, std::vector<Span>(100, span_of(1, 1, 1, StepPart::other)), 0);
    size_t seen = 0;
    for (int i = 0; i < 10'000 && seen < 2u + 100u * static_cast<size_t>(round); ++i) {
      usleep(1000);
      seen = fs::file_size(path()) == 0 ? 0 : events().size();
    }
    EXPECT_EQ(seen, 2u + 100u * static_cast<size_t>(round));
  }
}

TEST_F(TraceFileTest, EndsAtItsBoundAndSaysSoOnce) {
  TraceOptions bounded = options();
  bounded.most_bytes = 100'000;
  {
    TraceFile trace(bounded);
    for (int i = 0; i < 10; ++i) {
      trace.spans(0, {"x"}, std::vector<Span>(2000, span_of(1, 1, 1, StepPart::other)), 0);
    }
  }
  EXPECT_LE(fs::file_size(path()), 100'000u);
  EXPECT_GE(events().size(), 2u);
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_EQ(said_[0].name, "trace_ended");
  EXPECT_THAT(said_[0].message, HasSubstr("as large as it may become"));
}

// Against a limit of the file's size, which refuses as a full disk does, in the middle of a write.
TEST_F(TraceFileTest, StaysWholeWhereTheDiskIsFull) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit limit = before;
  limit.rlim_cur = 50'000;
  {
    TraceFile trace(options());
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 0; i < 10; ++i) {
      trace.spans(0, {"x"}, std::vector<Span>(200, span_of(1, 1, 1, StepPart::other)), 0);
    }
  }
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_GE(events().size(), 2u);
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_THAT(said_[0].message, HasSubstr("File too large"));
}

TEST_F(TraceFileTest, LeavesOutWhatComesTooFastAndSaysSo) {
  constexpr size_t most = 1 << 18;
  {
    TraceFile trace(options());
    trace.spans(0, {"x"}, std::vector<Span>(most + 1, span_of(1, 1, 1, StepPart::other)), 0);
    trace.mark({Level::info, "after", "after"});
  }
  EXPECT_EQ(events().size(), 3u);
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_EQ(said_[0].name, "trace_spans_lost");
}

TEST_F(TraceFileTest, RefusesAPathThatCannotBeWritten) {
  try {
    TraceFile trace({folder_ / "no" / "trace.json"});
    FAIL() << "made";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_THAT(error.message(), HasSubstr("No such file"));
  }
  if (fs::exists("/dev/full")) {
    EXPECT_THROW(TraceFile({"/dev/full"}), Error);
  }
}

}  // namespace
}  // namespace dure
