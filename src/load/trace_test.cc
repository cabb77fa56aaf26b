// Traces of both forms: read, or refused by line.
#include "load/trace.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <iostream>

#include "base/error.h"

namespace dure::load {
namespace {

using ::testing::HasSubstr;

std::string refusal(const std::string& text) {
  try {
    parse_trace(text, "a.trace");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    return error.message();
  }
  return "";
}

TEST(Trace, ReadsTimesLengthsAndBlocksOfJsonLines) {
  const Trace trace = parse_trace(
      "{\"timestamp\": 500, \"input_length\": 1024, \"output_length\": 9, \"hash_ids\": [0, 3]}\r\n"
      "\n"
      "{\"timestamp\": 2500.5, \"input_length\": 513, \"output_length\": 1, \"hash_ids\": [0, 4]}",
      "a.jsonl");
  ASSERT_EQ(trace.rows.size(), 2);
  EXPECT_EQ(trace.block_tokens, 512);
  EXPECT_EQ(trace.rows[0].at_s, 0.0);  // since the first
  EXPECT_DOUBLE_EQ(trace.rows[1].at_s, 2.0005);
  EXPECT_EQ(trace.rows[0].input, 1024);
  EXPECT_EQ(trace.rows[0].output, 9);
  EXPECT_THAT(trace.rows[1].blocks, ::testing::ElementsAre(0, 4));
}

TEST(Trace, ReadsATable) {
  const Trace trace = parse_trace(
      "arrived_at,num_prefill_tokens,num_decode_tokens\n3.5,10,2\n0.5,4808,10\n", "a.csv");
  ASSERT_EQ(trace.rows.size(), 2);
  EXPECT_EQ(trace.block_tokens, 0);
  EXPECT_EQ(trace.rows[0].input, 4808);  // by time
  EXPECT_DOUBLE_EQ(trace.rows[1].at_s, 3.0);
}

TEST(Trace, FindsTheSizeOfBlocks) {
  const Trace trace = parse_trace(
      "{\"timestamp\":0,\"input_length\":33,\"output_length\":1,\"hash_ids\":[1,2,3]}\n"
      "{\"timestamp\":0,\"input_length\":16,\"output_length\":1,\"hash_ids\":[1]}\n",
      "a.jsonl");
  EXPECT_EQ(trace.block_tokens, 16);
}

TEST(Trace, WithoutHashesHasNoBlocks) {
  EXPECT_EQ(
      parse_trace("{\"timestamp\":0,\"input_length\":33,\"output_length\":1}", "a").block_tokens,
      0);
}

TEST(Trace, ThatIsBrokenIsRefusedWithItsLine) {
  const std::string good = "{\"timestamp\":0,\"input_length\":5,\"output_length\":1}\n";
  for (const char* bad :
       {"{", "[]", "7", "{}", "{\"timestamp\":-1,\"input_length\":5,\"output_length\":1}",
        "{\"timestamp\":0,\"input_length\":0,\"output_length\":1}",
        "{\"timestamp\":0,\"input_length\":5.5,\"output_length\":1}",
        "{\"timestamp\":0,\"input_length\":5,\"output_length\":-1}",
        "{\"timestamp\":0,\"input_length\":5}", "{\"timestamp\":0,\"output_length\":5}",
        "{\"timestamp\":\"0\",\"input_length\":5,\"output_length\":1}",
        "{\"timestamp\":0,\"input_length\":1e300,\"output_length\":1}",
        "{\"timestamp\":1e300,\"input_length\":1,\"output_length\":1}",
        "{\"timestamp\":0,\"input_length\":5,\"output_length\":1,\"hash_ids\":3}",
        "{\"timestamp\":0,\"input_length\":5,\"output_length\":1,\"hash_ids\":[\"a\"]}",
        "{\"timestamp\":0,\"timestamp\":0,\"input_length\":5,\"output_length\":1}"}) {
    EXPECT_THAT(refusal(good + bad), HasSubstr("a.trace line 2")) << bad;
  }
  const std::string header = "arrived_at,num_prefill_tokens,num_decode_tokens\n0,5,1\n";
  for (const char* bad :
       {"x,5,1", "-1,5,1", "0,5", "0,0,1", "0,5,0", "0,5.5,1", "nan,5,1", "0,,1"}) {
    EXPECT_THAT(refusal(header + bad + "\n"), HasSubstr("line 3")) << bad;
  }
}

TEST(Trace, OfNothingIsRefused) {
  for (const char* empty : {"", "\n\n", "arrived_at,num_prefill_tokens,num_decode_tokens\n",
                            "some,other,table\n1,2,3\n"}) {
    EXPECT_NE(refusal(empty), "") << empty;
  }
}

TEST(Trace, WhoseBlocksFitNoSizeIsRefused) {
  EXPECT_THAT(
      refusal("{\"timestamp\":0,\"input_length\":5,\"output_length\":1,\"hash_ids\":[1,2]}\n"
              "{\"timestamp\":0,\"input_length\":50,\"output_length\":1,\"hash_ids\":[1]}\n"),
      HasSubstr("hash_ids"));
}

TEST(Trace, EachFormThatIsPublishedIsRead) {
  const std::filesystem::path shipped = std::filesystem::path(DURE_SOURCE_DIR) / "testdata/traces";
  const std::filesystem::path full =
      std::filesystem::path(DURE_SOURCE_DIR) / "../shared/data/traces";
  for (const auto& folder : {shipped, full}) {
    if (!std::filesystem::exists(folder)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".md") continue;
      const Trace trace = read_trace(entry.path());
      std::cout << entry.path().filename() << ": " << trace.rows.size() << " requests\n";
      EXPECT_GE(trace.rows.size(), 20);
      EXPECT_EQ(trace.block_tokens, entry.path().extension() == ".jsonl" ? 512 : 0);
      for (const TraceRow& row : trace.rows) {
        ASSERT_EQ(row.blocks.size(),
                  static_cast<size_t>(trace.block_tokens == 0 ? 0 : (row.input + 511) / 512));
      }
    }
  }
}

}  // namespace
}  // namespace dure::load
