// Events as the known servers write them.
#include "load/answer_event.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace dure::load {
namespace {

TEST(AnswerEvent, TextOfEveryKindCounts) {
  for (const char* with_text : {
           R"({"choices":[{"index":0,"text":" a","finish_reason":null}]})",
           R"({"choices":[{"index":0,"delta":{"content":"a"}}]})",
           R"({"choices":[{"index":0,"delta":{"content":null,"reasoning_content":"hm"}}]})",
           R"({"choices":[{"index":0,"delta":{"reasoning":"hm"}}]})",
           R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{}}]}}]})",
       }) {
    EXPECT_TRUE(parse_answer_event(with_text).has_text) << with_text;
  }
  for (const char* without : {
           R"({"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]})",
           R"({"choices":[{"index":0,"text":""}]})",
           R"({"choices":[]})",
           R"({"choices":[{"index":0,"delta":{"tool_calls":[]}}]})",
           R"({})",
       }) {
    EXPECT_FALSE(parse_answer_event(without).has_text) << without;
  }
}

TEST(AnswerEvent, ReadsTheEndAndTheUsage) {
  const AnswerEvent event = parse_answer_event(
      R"({"choices":[{"text":"","finish_reason":"length"}],
          "usage":{"prompt_tokens":9,"completion_tokens":4,
                   "prompt_tokens_details":{"cached_tokens":8}}})");
  EXPECT_EQ(event.finish_reason, "length");
  ASSERT_TRUE(event.usage);
  EXPECT_EQ(event.usage->prompt_tokens, 9);
  EXPECT_EQ(event.usage->completion_tokens, 4);
  EXPECT_EQ(event.usage->cached_tokens, 8);
  EXPECT_FALSE(event.done);
  EXPECT_TRUE(parse_answer_event("[DONE]").done);
  EXPECT_FALSE(parse_answer_event(R"({"choices":[],"usage":null})").usage);
}

TEST(AnswerEvent, ReadsErrorsOfEveryServer) {
  EXPECT_EQ(parse_answer_event(R"({"error":{"message":"no room","code":503}})").error, "no room");
  EXPECT_EQ(parse_answer_event(R"({"error":"no room"})").error, "no room");
  EXPECT_EQ(parse_answer_event(R"({"object":"error","message":"no room"})").error, "no room");
  EXPECT_EQ(parse_answer_event(R"({"error":null,"choices":[]})").error, std::nullopt);
}

TEST(AnswerEvent, RefusesWhatIsNotAnObject) {
  for (const char* bad :
       {"", "x", "[1]", "3", "{\"a\":", "{\"choices\":[}", "\"[DONE]\"", "\xFF"}) {
    EXPECT_THROW(parse_answer_event(bad), Error) << bad;
  }
}

TEST(AnswerEvent, SurvivesFieldsOfOtherTypes) {
  for (const char* odd :
       {R"({"choices":7})", R"({"choices":[7,null,{"delta":[]},{"text":3,"finish_reason":{}}]})",
        R"({"usage":{"prompt_tokens":-4,"completion_tokens":"x","prompt_tokens_details":1}})",
        R"({"usage":{"prompt_tokens":1e300}})"}) {
    const AnswerEvent event = parse_answer_event(odd);
    EXPECT_FALSE(event.has_text) << odd;
    EXPECT_EQ(event.usage ? event.usage->prompt_tokens : 0, 0) << odd;
  }
}

TEST(AnswerEvent, AnErrorsBodyIsItsMessageOrItsFirstBytes) {
  EXPECT_EQ(error_message_of(R"({"error":{"message":"queue is full"}})"), "queue is full");
  EXPECT_EQ(error_message_of(R"({"detail":"Not Found"})"), "Not Found");
  EXPECT_EQ(error_message_of("<html>"), "<html>");
  EXPECT_EQ(error_message_of(std::string(1000, 'x')).size(), 200);
}

}  // namespace
}  // namespace dure::load
