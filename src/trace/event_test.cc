#include "trace/event.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dure {
namespace {

constexpr std::chrono::system_clock::time_point noon{std::chrono::milliseconds(43'200'125)};

TEST(Event, IsOneLineOfJsonWithWhatIsKnown) {
  Event event{Level::error, "group_died", "rank 2 \"died\"\nof \xff", "look"};
  event.cause = "killed";
  event.rank = 2;
  event.pid = 4711;
  event.host = "node1";
  event.step = 17;
  event.operation = "all-reduce of attention output";
  event.layer = 0;
  event.request = "abc";
  event.numbers = {{"tokens", 12.0}, {"seconds", 0.25}};
  const std::string line = json_of(event, noon);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["time"], "1970-01-01T12:00:00.125Z");
  EXPECT_EQ(json["level"], "error");
  EXPECT_EQ(json["event"], "group_died");
  EXPECT_EQ(json["message"], "rank 2 \"died\"\nof \xef\xbf\xbd");
  EXPECT_EQ(json["hint"], "look");
  EXPECT_EQ(json["cause"], "killed");
  EXPECT_EQ(json["rank"], 2);
  EXPECT_EQ(json["pid"], 4711);
  EXPECT_EQ(json["host"], "node1");
  EXPECT_EQ(json["step"], 17);
  EXPECT_EQ(json["operation"], "all-reduce of attention output");
  EXPECT_EQ(json["layer"], 0);
  EXPECT_EQ(json["request_id"], "abc");
  EXPECT_TRUE(json["tokens"].is_number_integer());
  EXPECT_EQ(json["tokens"], 12);
  EXPECT_EQ(json["seconds"], 0.25);
  EXPECT_EQ(line.find("{\"time\""), 0u);  // for eyes that scan a column
}

TEST(Event, LeavesOutWhatIsNotKnown) {
  const auto json = nlohmann::json::parse(json_of({Level::info, "serving", "ready"}, noon));
  EXPECT_EQ(json.size(), 4u);
}

TEST(Event, IsAWarningInText) {
  EXPECT_EQ(text_of({Level::error, "group_died", "gone"}), "warning: gone");
  EXPECT_EQ(text_of({Level::warning, "x", "careful"}), "warning: careful");
  EXPECT_EQ(text_of({Level::info, "x", "ready"}), "ready");
}

}  // namespace
}  // namespace dure
