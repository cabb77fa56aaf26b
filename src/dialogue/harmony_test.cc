// The messages of gpt-oss.
#include <algorithm>

#include "dialogue/test_answers.h"

namespace dure {
namespace {

const AnswerOptions harmony = options_of(CallFormat::harmony, ReasoningFormat::harmony);

TEST(Harmony, PartsReasoningFromTheAnswer) {
  EXPECT_EQ(
      read_every_way(harmony,
                     "<|channel|>analysis<|message|>User says \"안녕\".\nGreet.<|end|><|start|>"
                     "assistant<|channel|>final<|message|>Hello! 1 < 2 <|x|>"),
      (Told{"User says \"안녕\".\nGreet.", "Hello! 1 < 2 <|x|>", {}}));
  EXPECT_EQ(read_every_way(harmony, "<|channel|>final<|message|>Hi<|return|>"),
            (Told{"", "Hi", {}}));
}

TEST(Harmony, ReadsCallsWhereverTheRecipientStands) {
  const Told expected = {"Need weather.", "", {{"get_weather", "{\"city\": \"<|\"}"}}};
  const std::string thought =
      "<|channel|>analysis<|message|>Need weather.<|end|><|start|>assistant";
  for (const char* head :
       {"<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>",
        "<|channel|>commentary to=functions.get_weather<|message|>",
        " to=functions.get_weather<|channel|>commentary json<|message|>",
        " to=functions.get_weather<|channel|>commentary <|constrain|>json<|message|>",
        "<|channel|>analysis to=functions.get_weather code<|message|>"}) {
    // The token that ends a call ends the answer too, and may not be shown.
    for (const char* end : {"<|call|>", ""}) {
      EXPECT_EQ(read_every_way(harmony, thought + head + "{\"city\": \"<|\"}" + end), expected);
    }
  }
}

TEST(Harmony, TheFirstHeaderMayBeginWithItsRecipient) {
  EXPECT_EQ(
      read_every_way(harmony, " to=functions.f<|channel|>commentary json<|message|>{}<|call|>"),
      (Told{"", "", {{"f", "{}"}}}));
}

TEST(Harmony, ReadsPreamblesAndSeveralCalls) {
  EXPECT_EQ(
      read_every_way(harmony,
                     "<|channel|>commentary<|message|>I will look.<|end|><|start|>assistant"
                     "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\": "
                     "1}<|call|><|start|>assistant<|channel|>commentary to=functions.g "
                     "<|constrain|>json<|message|><|call|>"),
      (Told{"", "I will look.", {{"f", "{\"a\": 1}"}, {"g", "{}"}}}));
}

TEST(Harmony, PartsMessagesOfOneKindByALine) {
  EXPECT_EQ(read_every_way(harmony,
                           "<|channel|>analysis<|message|>One.<|end|><|start|>assistant<|channel|>"
                           "analysis<|message|>Two.<|end|><|start|>assistant<|channel|>commentary"
                           "<|message|>Three.<|end|><|start|>assistant<|channel|>final<|message|>"
                           "Four."),
            (Told{"One.\nTwo.", "Three.\nFour.", {}}));
}

TEST(Harmony, MessagesWithoutAnEndEndAtTheNext) {
  EXPECT_EQ(
      read_every_way(harmony,
                     "<|channel|>analysis<|message|>Hm.<|channel|>final<|message|>Yes.<|start|>"
                     "assistant<|channel|>final<|message|> No."),
      (Told{"Hm.", "Yes.\n No.", {}}));
}

TEST(Harmony, AHeaderThatNeverEndsIsContentInWholeCharacters) {
  for (const char* before : {"", "x", "xy", "xyz"}) {
    std::string said = before;
    for (int i = 0; i < 300; ++i) said += i % 7 == 0 ? "<<|me" : "봄";
    EXPECT_EQ(read_every_way(harmony, "<|channel|>" + said + "<|end|>").content, said);
  }
}

TEST(Harmony, ToolsOfTheModelsOwnBelongToItsThoughts) {
  EXPECT_EQ(read_every_way(harmony,
                           "<|channel|>analysis to=python code<|message|>print(1)<|call|><|start|>"
                           "assistant<|channel|>commentary to=web.find<|message|>{}<|call|>"),
            (Told{"print(1)", "", {{"web.find", "{}"}}}));
}

TEST(Harmony, TextOutsideOfMessagesIsContent) {
  for (const char* text : {"Hello", "to", "token", " tomorrow", "a < b", "<|", "You said <|x|>"}) {
    EXPECT_EQ(read_every_way(harmony, text), (Told{"", text, {}}));
  }
  EXPECT_EQ(read_every_way(harmony, "Plain.<|end|>More"), (Told{"", "Plain.More", {}}));
}

TEST(Harmony, AHeaderThatIsCutOffIsDropped) {
  const std::string answer =
      "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\": 1}";
  for (size_t length = 0; length < answer.find("{"); ++length) {
    // The first characters of the first mark could be text.
    const std::string text = answer.substr(0, length);
    const std::string content = length < 11 ? text : "";
    EXPECT_EQ(read_every_way(harmony, text, true).content, content);
  }
  EXPECT_EQ(read_every_way(harmony, answer, true), (Told{"", "", {{"f", "{\"a\": 1}", false}}}));
  EXPECT_EQ(read_every_way(harmony, answer, false), (Told{"", "", {{"f", "{\"a\": 1}", true}}}));
}

TEST(Harmony, EndlessHeadersAreContent) {
  const std::string text(2000, 'x');
  const std::string content = read_every_way(harmony, "<|start|>" + text).content;
  EXPECT_EQ(std::count(content.begin(), content.end(), 'x'), 2000);
}

}  // namespace
}  // namespace dure
