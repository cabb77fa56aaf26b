// Calls whose parameters are plain text: Qwen3-Coder, MiniMax, DeepSeek V3.2, GLM, and Python
// lists.
#include "dialogue/test_answers.h"

namespace dure {
namespace {

const Tool edit = tool_with("edit", R"({
    "path": {"type": "string"}, "text": {"type": "string"}, "line": {"type": "integer"},
    "ratio": {"type": "number"}, "all": {"type": "boolean"}, "tags": {"type": "array"},
    "options": {"type": "object"}, "maybe": {"type": ["integer", "null"]}})");

AnswerOptions with_edit(CallFormat format) {
  return options_of(format, ReasoningFormat::none, {edit});
}

const AnswerOptions qwen = with_edit(CallFormat::qwen3_coder);

TEST(QwenCoder, WritesArgumentsByTheTypesOfTheSchema) {
  const Told told = read_every_way(
      qwen,
      "I will edit it.\n\n<tool_call>\n<function=edit>\n<parameter=path>\n123\n</parameter>\n"
      "<parameter=text>\nif (a < b) {\n\tsay(\"\\n\");\n}\n\n</parameter>\n<parameter=line>\n42\n"
      "</parameter>\n<parameter=ratio>\n-0.5\n</parameter>\n<parameter=all>\nTrue\n</parameter>\n"
      "<parameter=tags>\n[\"도\", {\"a\": 1}]\n</parameter>\n<parameter=options>\n{'k': None}\n"
      "</parameter>\n<parameter=maybe>\nnull\n</parameter>\n</function>\n</tool_call>");
  EXPECT_EQ(told.content, "I will edit it.");
  ASSERT_EQ(told.calls.size(), 1u);
  EXPECT_EQ(
      told.calls[0],
      (ToldCall{"edit",
                "{\"path\": \"123\", \"text\": \"if (a < b) {\\n\\tsay(\\\"\\\\n\\\");\\n}\\n\", "
                "\"line\": 42, \"ratio\": -0.5, \"all\": true, \"tags\": [\"도\", {\"a\": 1}], "
                "\"options\": {\"k\": null}, \"maybe\": null}"}));
}

TEST(QwenCoder, ValuesOfTheWrongTypeStayStrings) {
  EXPECT_EQ(read_every_way(qwen,
                           "<tool_call>\n<function=edit>\n<parameter=line>\nlast\n</parameter>\n"
                           "<parameter=all>\n1\n</parameter>\n<parameter=tags>\n[1,\n</parameter>\n"
                           "</function>\n</tool_call>"),
            (Told{"", "", {{"edit", "{\"line\": \"last\", \"all\": \"1\", \"tags\": \"[1,\"}"}}}));
}

TEST(QwenCoder, UnknownToolsAndParametersAreReadAsWhatTheyLookLike) {
  EXPECT_EQ(read_every_way(qwen,
                           "<tool_call>\n<function=other>\n<parameter=n>\n5\n</parameter>\n"
                           "<parameter=s>\nfive\n</parameter>\n</function>\n</tool_call>"),
            (Told{"", "", {{"other", "{\"n\": 5, \"s\": \"five\"}"}}}));
}

TEST(QwenCoder, ReadsParallelCallsAndCallsWithoutParameters) {
  const Told expected = {"", "", {{"f", "{}"}, {"edit", "{\"path\": \"\"}"}}};
  EXPECT_EQ(read_every_way(qwen,
                           "<tool_call>\n<function=f>\n</function>\n</tool_call>\n<tool_call>\n"
                           "<function=edit>\n<parameter=path>\n</parameter>\n</function>\n"
                           "</tool_call>"),
            expected);
  // In one block, without the block, and with closing marks forgotten.
  EXPECT_EQ(read_every_way(qwen,
                           "<tool_call><function=f></function><function=edit><parameter=path>"
                           "</parameter></function></tool_call>"),
            expected);
  EXPECT_EQ(read_every_way(qwen,
                           "<function=f>\n</function>\n<function=edit>\n<parameter=path>\n"
                           "</parameter>\n</function>"),
            expected);
  EXPECT_EQ(read_every_way(qwen,
                           "<tool_call>\n<function=f>\n</tool_call>\n<tool_call>\n<function=edit>\n"
                           "<parameter=path>\n\n</function>\n</tool_call>"),
            expected);
}

TEST(QwenCoder, AParameterWithoutAnEndEndsAtTheNext) {
  EXPECT_EQ(read_every_way(qwen,
                           "<function=edit>\n<parameter=path>\na.c\n<parameter=line>\n7\n"
                           "</function>"),
            (Told{"", "", {{"edit", "{\"path\": \"a.c\", \"line\": 7}"}}}));
}

TEST(QwenCoder, StreamsStringsAsTheyCome) {
  AnswerParser parser(qwen);
  const auto said = [&](std::string_view piece) {
    std::string text;
    for (const AnswerDelta& delta : parser.push(piece)) text += delta.text;
    return text;
  };
  EXPECT_EQ(said("<tool_call>\n<function=edit>\n<parameter=text>\n"), "{\"text\": \"");
  EXPECT_EQ(said("one "), "one ");
  EXPECT_EQ(said("\"two\""), "\\\"two\\\"");
  EXPECT_EQ(said("\n"), "");
  EXPECT_EQ(said("<"), "");
  EXPECT_EQ(said("b>"), "\\n<b>");
  EXPECT_EQ(said("\n</parameter>"), "\"");
  EXPECT_EQ(said("\n</function>"), "}");
}

TEST(QwenCoder, TextThatIsNoCallIsContent) {
  for (const char* text :
       {"<tool_call> is a tag", "<function=two words>", "std::function<int> f; a <function",
        "<tool_call>", "<tool_call>\n<function=>\n", "<function=f"}) {
    EXPECT_EQ(read_every_way(qwen, text), (Told{"", text, {}}));
  }
}

TEST(QwenCoder, StrayTextInsideACallIsContentBehindIt) {
  EXPECT_EQ(read_every_way(qwen,
                           "<tool_call>\n<function=edit>\nwell\n<parameter=line>\n1\n</parameter>\n"
                           "</function>\n</tool_call>"),
            (Told{"", "well", {{"edit", "{\"line\": 1}"}}}));
}

TEST(MiniMax, ReadsInvocations) {
  EXPECT_EQ(
      read_every_way(with_edit(CallFormat::minimax_m2),
                     "Ok.\n<minimax:tool_call>\n<invoke name=\"edit\"><parameter name=\"path\">"
                     "a b</parameter>\n<parameter name=\"line\">3</parameter>\n</invoke>\n"
                     "<invoke name=\"g\">\n</invoke>\n</minimax:tool_call>"),
      (Told{"", "Ok.", {{"edit", "{\"path\": \"a b\", \"line\": 3}"}, {"g", "{}"}}}));
}

TEST(DeepSeekDsml, BelievesWhatTheModelSaysOfAValue) {
  const std::string inside =
      "<｜DSML｜invoke name=\"edit\">\n<｜DSML｜parameter name=\"line\" string=\"true\">3"
      "</｜DSML｜parameter>\n<｜DSML｜parameter name=\"path\" string=\"false\">[1, \"<\"]"
      "</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name=\"g\">\n</｜DSML｜invoke>\n";
  const Told expected = {
      "", "Ok.", {{"edit", "{\"line\": \"3\", \"path\": [1, \"<\"]}"}, {"g", "{}"}}};
  EXPECT_EQ(
      read_every_way(with_edit(CallFormat::deepseek_dsml),
                     "Ok.\n\n<｜DSML｜function_calls>\n" + inside + "</｜DSML｜function_calls>"),
      expected);
  EXPECT_EQ(read_every_way(with_edit(CallFormat::deepseek_dsml),
                           "Ok.\n\n<｜DSML｜tool_calls>\n" + inside + "</｜DSML｜tool_calls>"),
            expected);
}

const AnswerOptions glm = with_edit(CallFormat::glm);

TEST(Glm, ReadsKeysAndValuesWithAndWithoutLineBreaks) {
  const Told expected = {
      "", "Sure.", {{"edit", "{\"path\": \"7\", \"line\": 7, \"tags\": [\"é\"]}"}, {"g", "{}"}}};
  EXPECT_EQ(read_every_way(glm,
                           "Sure.\n<tool_call>edit\n<arg_key>path</arg_key>\n<arg_value>7"
                           "</arg_value>\n<arg_key>line</arg_key>\n<arg_value>7</arg_value>\n"
                           "<arg_key>tags</arg_key>\n<arg_value>[\"é\"]</arg_value>\n</tool_call>\n"
                           "<tool_call>g\n</tool_call>"),
            expected);
  EXPECT_EQ(read_every_way(glm,
                           "Sure.<tool_call>edit<arg_key>path</arg_key><arg_value>7</arg_value>"
                           "<arg_key>line</arg_key><arg_value>7</arg_value><arg_key>tags</arg_key>"
                           "<arg_value>[\"é\"]</arg_value></tool_call><tool_call>g</tool_call>"),
            expected);
}

TEST(Glm, AKeyWithoutAValueIsNull) {
  EXPECT_EQ(read_every_way(glm,
                           "<tool_call>edit<arg_key>a</arg_key><arg_key>line</arg_key><arg_value>1"
                           "</arg_value></tool_call>"),
            (Told{"", "", {{"edit", "{\"a\": null, \"line\": 1}"}}}));
}

TEST(Glm, WordsBehindTheMarkAreContent) {
  for (const char* text : {"<tool_call> is the tag", "<tool_call>is", "<tool_call>f\n<arg_"}) {
    EXPECT_EQ(read_every_way(glm, text), (Told{"", text, {}}));
  }
}

const AnswerOptions pythonic = options_of(CallFormat::pythonic);

TEST(PythonicCalls, ANameThatIsTooLongIsTakenInWholeCharacters) {
  for (const char* before : {"", "x", "xy"}) {
    std::string name = before;
    for (int i = 0; i < 100; ++i) name += "봄";
    const Told told = read_every_way(pythonic, "[f(a=1, " + name + "=2)]");
    EXPECT_EQ(utf8::first_invalid(told.content), told.content.size());
    EXPECT_FALSE(told.content.empty());
  }
}

TEST(Pythonic, ReadsAListOfCalls) {
  const Told expected = {
      "",
      "",
      {{"get_weather", "{\"city\": \"San Francisco, \\\"CA\\\"\", \"metric\": true}"},
       {"f", "{}"},
       {"g", "{\"xs\": [1, -2.5, null], \"d\": {\"k\": \"('\"}}"}}};
  const std::string list =
      "[get_weather(city=\"San Francisco, \\\"CA\\\"\", metric=True), f(), g(xs=[1, -2.5, None], "
      "d={'k': '(\\''})]";
  EXPECT_EQ(read_every_way(pythonic, list), expected);
  EXPECT_EQ(read_every_way(pythonic, "<|python_start|>" + list + "<|python_end|>"), expected);
}

TEST(Pythonic, ValuesThatAreNoLiteralsStayText) {
  EXPECT_EQ(read_every_way(pythonic, "[f(x=now() + 1, y=foo)]"),
            (Told{"", "", {{"f", "{\"x\": \"now() + 1\", \"y\": \"foo\"}"}}}));
}

TEST(Pythonic, BracketsInTextAreContent) {
  for (const char* text : {"[link](http://x)", "[1, 2, 3]", "see [f(a=1)]", "[f(a)]", "[f(a==1)]",
                           "[f() is good]", "[get_weather(", "[]", "[\"x\"]"}) {
    EXPECT_EQ(read_every_way(pythonic, text), (Told{"", text, {}}));
  }
}

TEST(Pythonic, WhatBreaksOffIsContentBehindTheCalls) {
  EXPECT_EQ(read_every_way(pythonic, "[f(a=1), g(2)]"),
            (Told{"", ", g(2)]", {{"f", "{\"a\": 1}"}}}));
  EXPECT_EQ(read_every_way(pythonic, "[f(a=1]"), (Told{"", "]", {{"f", "{\"a\": 1}"}}}));
}

}  // namespace
}  // namespace dure
