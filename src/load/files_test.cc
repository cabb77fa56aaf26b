// Requests one by one in files, and all numbers in JSON.
#include "load/files.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/csv.h"

namespace dure::load {
namespace {

LoadResult two_records() {
  LoadResult result;
  result.start_s = 100.0;
  Record good;
  good.scheduled_s = 101.0;
  good.sent_s = 101.25;
  good.arrivals_s = {102.0, 102.5, 104.0};
  good.end_s = 104.0;
  good.status = 200;
  good.has_usage = true;
  good.input_tokens = 12;
  good.output_tokens = 3;
  good.finish_reason = "length";
  Record bad;
  bad.number = 1;
  bad.outcome = Outcome::failed;
  bad.trouble = Trouble::status;
  bad.status = 503;
  bad.scheduled_s = bad.sent_s = bad.end_s = 102.0;
  bad.detail = "a, \"b\"\nc \xFF";
  result.records = {good, bad};
  return result;
}

TEST(RecordsCsv, HasALineForEachRequestThatAnyReaderReads) {
  LoadResult result = two_records();
  result.background.push_back(result.records[0]);
  const CsvTable table = parse_csv(records_csv(result), "csv");
  ASSERT_EQ(table.size(), 3);
  EXPECT_EQ(table.row(0).text("load"), "main");
  EXPECT_EQ(table.row(2).text("load"), "background");
  EXPECT_EQ(table.row(0).text("outcome"), "completed");
  EXPECT_DOUBLE_EQ(table.row(0).number("scheduled_s"), 1.0);
  EXPECT_DOUBLE_EQ(table.row(0).number("sent_s"), 1.25);
  EXPECT_DOUBLE_EQ(table.row(0).number("ttft_s"), 1.0);
  EXPECT_DOUBLE_EQ(table.row(0).number("tpot_s"), 1.0);
  EXPECT_DOUBLE_EQ(table.row(0).number("longest_gap_s"), 1.5);
  EXPECT_EQ(table.row(0).integer("output_tokens"), 3);
  EXPECT_EQ(table.row(1).text("error"), "status");
  EXPECT_EQ(table.row(1).integer("status"), 503);
  EXPECT_FALSE(table.row(1).optional_number("ttft_s"));
  EXPECT_THAT(table.row(1).text("detail"), ::testing::StartsWith("a, "));
}

TEST(RecordsJson, HasEveryArrival) {
  const Json json = records_json(two_records());
  ASSERT_EQ(json.size(), 2);
  EXPECT_EQ(json[0]["arrivals_s"], Json({2.0, 2.5, 4.0}));
  EXPECT_EQ(json[1]["arrivals_s"], Json::array());
  EXPECT_EQ(json[1]["ttft_s"], nullptr);
}

TEST(SummaryJson, NamesErrorsAndGoal) {
  const LoadResult result = two_records();
  const Goal goal = Goal::parse("ttft:1s", "--goodput");
  const Json json = summary_json(summarize(result.records, result.start_s, goal), goal);
  EXPECT_EQ(json["requests"], 2);
  EXPECT_EQ(json["failed"], 1);
  EXPECT_EQ(json["errors"][0]["error"], "status");
  EXPECT_EQ(json["errors"][0]["status"], 503);
  EXPECT_EQ(json["goodput"]["requests"], 1);
  EXPECT_EQ(json["goodput"]["ttft_s"], 1.0);
  EXPECT_EQ(json["tokens_counted_by"], "usage");
  for (const char* key : {"ttft_s", "tpot_s", "itl_s", "e2e_s", "send_lag_s"}) {
    for (const char* part : {"count", "mean", "p50", "p90", "p95", "p99", "max"}) {
      EXPECT_TRUE(json[key][part].is_number()) << key << part;
    }
  }
}

}  // namespace
}  // namespace dure::load
