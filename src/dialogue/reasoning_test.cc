// Reasoning, and how it, content and calls follow each other.
#include "dialogue/test_answers.h"

namespace dure {
namespace {

const AnswerOptions think = options_of(CallFormat::hermes, ReasoningFormat::think);

AnswerOptions opened(AnswerOptions options) {
  options.starts_in_reasoning = true;
  return options;
}

TEST(Reasoning, IsPartedFromTheAnswer) {
  EXPECT_EQ(read_every_way(think, "<think>\nHm.\n\nWell.\n</think>\n\nHello <b>."),
            (Told{"Hm.\n\nWell.", "Hello <b>.", {}}));
  EXPECT_EQ(read_every_way(think, "\n<think>Hm.</think>Hello.\n"), (Told{"Hm.", "Hello.\n", {}}));
}

TEST(Reasoning, MayHaveBeenOpenedByThePrompt) {
  EXPECT_EQ(read_every_way(opened(think), "Hm, <think> is a word.\n</think>\n\nHello"),
            (Told{"Hm, <think> is a word.", "Hello", {}}));
  // Some models open it again.
  EXPECT_EQ(read_every_way(opened(think), "\n<think>\nHm.</think>Hello"),
            (Told{"Hm.", "Hello", {}}));
  EXPECT_EQ(read_every_way(opened(think), "\n</think>\n\nHello"), (Told{"", "Hello", {}}));
}

TEST(Reasoning, ThatWasTurnedOffLeavesTheAnswerAsItIs) {
  EXPECT_EQ(read_every_way(think, "\n\nHello "), (Told{"", "\n\nHello ", {}}));
}

TEST(Reasoning, WordsInTheMiddleOfALineAreText) {
  const char* text = "The tag `<think>` opens it and `</think>` closes it.";
  EXPECT_EQ(read_every_way(think, text), (Told{"", text, {}}));
}

TEST(Reasoning, WithoutAnEndIsAllThereIs) {
  EXPECT_EQ(read_every_way(think, "<think>Hm </thin", true), (Told{"Hm </thin", "", {}}));
  EXPECT_EQ(read_every_way(opened(think), "Hm\n", true), (Told{"Hm\n", "", {}}));
}

TEST(Reasoning, IsFollowedByCalls) {
  EXPECT_EQ(read_every_way(think,
                           "<think>\nUse <tool_call>.\n</think>\n\n<tool_call>\n{\"name\": \"f\", "
                           "\"arguments\": {}}\n</tool_call>"),
            (Told{"Use <tool_call>.", "", {{"f", "{}"}}}));
}

TEST(Reasoning, MayComeAgainBetweenTextAndCalls) {
  EXPECT_EQ(
      read_every_way(think,
                     "<think>One.</think>\nFirst.\n<think>Two.</think>\n<tool_call>{\"name\": "
                     "\"f\", \"arguments\": {}}</tool_call>\n<think>\nThree.\n</think>\nLast."),
      (Told{"One.\nTwo.\nThree.", "First.\n\n\n\nLast.", {{"f", "{}"}}}));
}

TEST(Reasoning, EndsWhereATokenForCallsBegins) {
  AnswerOptions kimi = opened(options_of(CallFormat::kimi_k2, ReasoningFormat::think));
  EXPECT_EQ(read_every_way(kimi,
                           "I call it.<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0"
                           "<|tool_call_argument_begin|>{}<|tool_call_end|>"
                           "<|tool_calls_section_end|>"),
            (Told{"I call it.", "", {{"f", "{}"}}}));
}

TEST(Reasoning, HasOtherMarksInOtherModels) {
  EXPECT_EQ(read_every_way(options_of(CallFormat::mistral_args, ReasoningFormat::think_brackets),
                           "[THINK]Hm [1].[/THINK]Hello[TOOL_CALLS]f[ARGS]{}"),
            (Told{"Hm [1].", "Hello", {{"f", "{}"}}}));
  EXPECT_EQ(read_every_way(options_of(CallFormat::none, ReasoningFormat::minimax_m3),
                           "<mm:think>Hm</mm:think>Hello"),
            (Told{"Hm", "Hello", {}}));
}

TEST(Reasoning, IsKnownToBeGoingOn) {
  EXPECT_FALSE(AnswerParser(think).in_reasoning());
  AnswerParser parser(opened(think));
  EXPECT_TRUE(parser.in_reasoning());
  parser.push("Hm");
  EXPECT_TRUE(parser.in_reasoning());
  parser.push("</think>");
  EXPECT_FALSE(parser.in_reasoning());
}

TEST(Answers, WithoutFormatsAreContentToTheByte) {
  const char* text = "\n <think>x</think> <tool_call>{\"name\": \"f\", \"arguments\": {}} \n";
  EXPECT_EQ(read_every_way(options_of(CallFormat::none), text), (Told{"", text, {}}));
}

TEST(Answers, HoldNothingThatCannotBeAMark) {
  AnswerParser parser(think);
  const auto said = [&](std::string_view piece) {
    std::string text;
    for (const AnswerDelta& delta : parser.push(piece)) text += delta.text;
    return text;
  };
  EXPECT_EQ(said("Hello"), "Hello");
  EXPECT_EQ(said(" wor"), " wor");
  EXPECT_EQ(said("ld <"), "ld");
  EXPECT_EQ(said("t"), "");
  EXPECT_EQ(said("able>"), " <table>");
  EXPECT_EQ(said(" a<tool_cal"), " a");
  EXPECT_EQ(said("k"), "<tool_calk");
  EXPECT_EQ(said("<tool_call>{\"name\": \"f\", \"arguments\": "), "");
  EXPECT_EQ(said("{"), "{");
  EXPECT_EQ(said("\"a"), "\"a");
  EXPECT_EQ(said("\": {}"), "\": {}");
  EXPECT_EQ(said("}"), "}");
  EXPECT_EQ(said("}</tool_call>"), "");
  EXPECT_EQ(said("x"), "x");
}

TEST(Answers, MayComeInEmptyPieces) {
  AnswerParser parser(think);
  for (const char* piece :
       {"", "<tool_call>", "", "{\"name\": \"f\",", "", "\"arguments\": {}}", ""}) {
    parser.push(piece);
  }
  EXPECT_EQ(parser.calls(), 1);
}

TEST(Answers, OfAMegabyteAreReadInLinearTime) {
  // Each of these would be slow, or deep, if held text were searched again and again.
  std::string marks, nested = "<tool_call>{\"name\": \"f\", \"arguments\": ", objects;
  for (int i = 0; i < 60'000; ++i) marks += "<tool_call>{\"a";
  nested += std::string(500'000, '[');
  for (int i = 0; i < 20'000; ++i) objects += "<tool_call>{\"name\": \"f\"}</tool_call>";
  EXPECT_EQ(told(read_pieces(think, {marks}, true)).content, marks);
  EXPECT_EQ(told(read_pieces(think, {nested}, true)).calls[0].arguments.size(), 500'000u);
  EXPECT_EQ(told(read_pieces(think, {objects}, true)).calls.size(), 20'000u);
}

}  // namespace
}  // namespace dure
