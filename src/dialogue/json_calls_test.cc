// Calls written as JSON: Hermes, Mistral, Phi-4, Llama 3, DeepSeek, Kimi.
#include "dialogue/test_answers.h"

namespace dure {
namespace {

const AnswerOptions hermes = options_of(CallFormat::hermes);

TEST(Hermes, KeepsTheLastBraceHoweverTheTextIsCut) {
  const Told told = read_every_way(
      hermes, "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": {\"b\": 1}}}\n</tool_call>");
  EXPECT_EQ(told, (Told{"", "", {{"f", "{\"a\": {\"b\": 1}}"}}}));
}

TEST(Hermes, ReadsParallelCallsBehindText) {
  const Told told = read_every_way(
      hermes,
      "Let me look that up.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": "
      "\"서울\", \"days\": 3}}\n</tool_call>\n<tool_call>\n{\"name\": \"get_time\", \"arguments\": "
      "{}}\n</tool_call>");
  EXPECT_EQ(told.content, "Let me look that up.");
  EXPECT_EQ(told.calls, (std::vector<ToldCall>{{"get_weather", "{\"city\": \"서울\", \"days\": 3}"},
                                               {"get_time", "{}"}}));
}

TEST(Hermes, PassesArgumentsOnAsTheModelWroteThem) {
  const std::string arguments =
      R"({ "code" : "if (a < b) {\n\treturn \"</tool_call>\\\";}" , "n":-1.5e-3,"ok":true, "x":null,)"
      R"( "list":[1,[2,{"k":"}"}]], "u": "é\ud83d\ude00😀" })";
  const Told told = read_every_way(
      hermes, "<tool_call>{\"name\":\"run\",\"arguments\":" + arguments + "}</tool_call>");
  EXPECT_EQ(told, (Told{"", "", {{"run", arguments}}}));
}

TEST(Hermes, TakesTheKeysInAnyOrder) {
  EXPECT_EQ(read_every_way(hermes,
                           "<tool_call>{\"arguments\": {\"x\": [1, 2]}, \"name\": \"f\"}\n"
                           "</tool_call>"),
            (Told{"", "", {{"f", "{\"x\": [1, 2]}"}}}));
  EXPECT_EQ(read_every_way(hermes,
                           "<tool_call>{\"id\": \"7\", \"why\": [1], \"name\": \"f\", "
                           "\"arguments\": {}, \"more\": {\"a\": 1}}</tool_call>"),
            (Told{"", "", {{"f", "{}"}}}));
}

TEST(Hermes, UnescapesArgumentsThatAreAString) {
  EXPECT_EQ(read_every_way(hermes,
                           R"(<tool_call>{"name": "f", "arguments": "{\"city\": \"\uc11c\u00e9\\n)"
                           R"(\ud83d\ude00\ud83dx\"}"}</tool_call>)"),
            (Told{"", "", {{"f", "{\"city\": \"서é\\n😀\xEF\xBF\xBDx\"}"}}}));
  EXPECT_EQ(
      read_every_way(hermes, R"(<tool_call>{"arguments": "{\"a\": 1}", "name": "f"}</tool_call>)"),
      (Told{"", "", {{"f", "{\"a\": 1}"}}}));
}

TEST(Hermes, CallsWithoutArgumentsHaveEmptyOnes) {
  for (const char* text : {"<tool_call>{\"name\": \"f\"}</tool_call>",
                           "<tool_call>{\"name\": \"f\", \"arguments\": null}</tool_call>",
                           "<tool_call>{\"arguments\": null, \"name\": \"f\"}</tool_call>",
                           "<tool_call>{\"name\": \"f\", \"arguments\": \"\"}</tool_call>",
                           "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>"}) {
    EXPECT_EQ(read_every_way(hermes, text), (Told{"", "", {{"f", "{}"}}})) << text;
  }
}

TEST(Hermes, TextAboutCallsIsContent) {
  for (const char* text :
       {"Write <tool_call> and then JSON.", "a <tool_call",
        "x <tool_call>{\"name\": 5}</tool_call>", "<tool_call>{\"nam\": \"f\"}</tool_call>",
        "<tool_call>[1]</tool_call> is wrong",
        "<tool_call>{\"name\": \"two words\", \"arguments\": {}}</tool_call>", "1 < 2 <tool> x",
        "<tool_call>{\"name\": \"f\", oops}</tool_call>"}) {
    EXPECT_EQ(read_every_way(hermes, text), (Told{"", text, {}}));
  }
}

TEST(Hermes, FindsACallBehindWhatOnlyLookedLikeOne) {
  EXPECT_EQ(read_every_way(hermes,
                           "I use <tool_call> now: <tool_call>{\"name\": \"f\", \"arguments\": "
                           "{}}</tool_call>"),
            (Told{"", "I use <tool_call> now:", {{"f", "{}"}}}));
}

TEST(Hermes, BrokenArgumentsStayText) {
  EXPECT_EQ(read_every_way(hermes,
                           "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 'x'}}</tool_call>"
                           " after"),
            (Told{"", "after", {{"f", "{\"a\": 'x'}}"}}}));
  EXPECT_EQ(read_every_way(hermes,
                           "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": [1}}</tool_call>"),
            (Told{"", "", {{"f", "{\"a\": [1}}"}}}));
}

TEST(Hermes, AMissingLastBraceIsForgiven) {
  EXPECT_EQ(read_every_way(hermes,
                           "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}\n</tool_call>"),
            (Told{"", "", {{"f", "{\"a\": 1}"}}}));
}

TEST(Hermes, WhatFollowsTheObjectInsideTheMarksIsContent) {
  EXPECT_EQ(
      read_every_way(hermes, "<tool_call>{\"name\": \"f\", \"arguments\": {}}} really</tool_call>"),
      (Told{"", "} really</tool_call>", {{"f", "{}"}}}));
}

TEST(Hermes, TextBehindACallIsContentToo) {
  EXPECT_EQ(read_every_way(hermes,
                           "First.\n<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>\n"
                           "Second. "),
            (Told{"", "First.\n\nSecond. ", {{"f", "{}"}}}));
}

TEST(Hermes, ACallThatIsCutOffStaysAsFarAsItWent) {
  const std::string whole =
      "Text <tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"bc\"}}\n</tool_call>";
  const size_t announced = whole.find("{\"a\"") + 1;
  for (size_t length = 0; length <= whole.size(); ++length) {
    const std::string_view text = std::string_view(whole).substr(0, length);
    const Told told = read_every_way(hermes, text, true);
    if (length < announced) {
      // Held text is given back, except for the white space in front of a call.
      EXPECT_EQ(told, (Told{"", std::string(text), {}}));
    } else {
      const size_t end = std::min(length, whole.find("}}") + 1);
      ASSERT_EQ(told.calls.size(), 1u);
      EXPECT_EQ(told.content, "Text");
      EXPECT_EQ(told.calls[0].arguments, whole.substr(announced - 1, end - announced + 1));
      EXPECT_EQ(told.calls[0].complete, length >= whole.find("}}") + 1);
    }
  }
}

TEST(Mistral, ReadsAListOfObjects) {
  const AnswerOptions options = options_of(CallFormat::mistral_list);
  EXPECT_EQ(
      read_every_way(options,
                     "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"a\": [1]}}, {\"name\":"
                     " \"g\", \"arguments\": {}}]"),
      (Told{"", "", {{"f", "{\"a\": [1]}"}, {"g", "{}"}}}));
  EXPECT_EQ(read_every_way(options, "Yes: [TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}}]"),
            (Told{"", "Yes:", {{"f", "{}"}}}));
  EXPECT_EQ(read_every_way(options, "[TOOL_CALLS]{\"name\": \"f\", \"arguments\": {}}"),
            (Told{"", "", {{"f", "{}"}}}));
}

TEST(Mistral, ReadsNamesInFrontOfArguments) {
  const AnswerOptions options = options_of(CallFormat::mistral_args);
  EXPECT_EQ(read_every_way(options,
                           "[TOOL_CALLS]get_weather[ARGS]{\"city\": \"Paris [ARGS]\"}[TOOL_CALLS]g"
                           "[CALL_ID]abcdef123[ARGS]{}"),
            (Told{"", "", {{"get_weather", "{\"city\": \"Paris [ARGS]\"}"}, {"g", "{}"}}}));
  EXPECT_EQ(read_every_way(options, "[TOOL_CALLS]f{\"a\": 1}"),
            (Told{"", "", {{"f", "{\"a\": 1}"}}}));
}

TEST(Mistral, GivesIdsOfNineLettersUnlessTheModelWroteOne) {
  const auto deltas =
      read_pieces(options_of(CallFormat::mistral_args),
                  {"[TOOL_CALLS]f[ARGS]{}[TOOL_CALLS]g[CALL_ID]abcdef123[ARGS]{}"}, false);
  std::vector<std::string> ids;
  for (const AnswerDelta& delta : deltas) {
    if (delta.kind == AnswerDelta::Kind::call) ids.push_back(delta.id);
  }
  ASSERT_EQ(ids.size(), 2u);
  EXPECT_EQ(ids[0].size(), 9u);
  EXPECT_EQ(
      ids[0].find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
      std::string::npos);
  EXPECT_EQ(ids[1], "abcdef123");
}

TEST(Mistral, WhatIsNoListIsContent) {
  const AnswerOptions options = options_of(CallFormat::mistral_list);
  for (const char* text : {"[TOOL_CALLS] nothing here", "[TOOL_CALLS][]", "[TOOL_CALLS][1, 2]",
                           "[TOOL_CALLS]", "[TOOL_CALLS][{\"name\": 1}]"}) {
    EXPECT_EQ(read_every_way(options, text), (Told{"", text, {}}));
  }
  EXPECT_EQ(read_every_way(options, "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}}, oops]"),
            (Told{"", ", oops]", {{"f", "{}"}}}));
}

TEST(Phi4, ReadsAListBehindItsWord) {
  EXPECT_EQ(read_every_way(options_of(CallFormat::phi4_mini),
                           "functools[{\"name\": \"f\", \"arguments\": {\"a\": 1}}]"),
            (Told{"", "", {{"f", "{\"a\": 1}"}}}));
  EXPECT_EQ(read_every_way(options_of(CallFormat::phi4_mini), "import functools"),
            (Told{"", "import functools", {}}));
}

const AnswerOptions llama = options_of(CallFormat::llama3_json);

TEST(Llama, ReadsBareObjectsWithOrWithoutItsTag) {
  const std::string object = "{\"name\": \"f\", \"parameters\": {\"a\": {\"b\": \"}\"}}}";
  const Told expected = {"", "", {{"f", "{\"a\": {\"b\": \"}\"}}"}}};
  EXPECT_EQ(read_every_way(llama, object), expected);
  EXPECT_EQ(read_every_way(llama, "<|python_tag|>" + object), expected);
  EXPECT_EQ(read_every_way(llama, "\n " + object), expected);
  EXPECT_EQ(read_every_way(llama,
                           "{\"type\": \"function\", \"name\": \"f\", \"parameters\": "
                           "{\"a\": {\"b\": \"}\"}}}"),
            expected);
}

TEST(Llama, ReadsSeveralObjects) {
  const Told expected = {"", "", {{"f", "{}"}, {"g", "{\"x\": 1}"}}};
  EXPECT_EQ(read_every_way(llama,
                           "{\"name\": \"f\", \"parameters\": {}}; {\"name\": \"g\", "
                           "\"parameters\": {\"x\": 1}}"),
            expected);
  EXPECT_EQ(read_every_way(llama,
                           "<|python_tag|>{\"name\": \"f\", \"arguments\": {}}\n{\"name\": \"g\", "
                           "\"parameters\": {\"x\": 1}}"),
            expected);
}

TEST(Llama, ReadsFunctionElements) {
  EXPECT_EQ(read_every_way(llama, "Sure.\n<function=f>{\"a\": 1}</function>"),
            (Told{"", "Sure.", {{"f", "{\"a\": 1}"}}}));
  EXPECT_EQ(read_every_way(llama, "<function=f>{\"a\": nope?}</function>"),
            (Told{"", "", {{"f", "{\"a\": nope?}"}}}));
}

TEST(Llama, JsonThatAUserAskedForIsContent) {
  for (const char* text :
       {"{\"name\": \"Bob\", \"age\": 5}", "{\"name\": \"Bob\"}", "{}", "{\"a\": {\"b\": []}}",
        "Look: {\"name\": \"f\", \"parameters\": {}}",
        "```json\n{\"name\": \"a b\", \"x\": 1}\n```", "<|python_tag|>print(1)"}) {
    EXPECT_EQ(read_every_way(llama, text), (Told{"", text, {}}));
  }
}

const AnswerOptions deepseek = options_of(CallFormat::deepseek_v3);

TEST(DeepSeek, ReadsFencedArgumentsOfV3) {
  EXPECT_EQ(
      read_every_way(deepseek,
                     "我来查一下。<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>"
                     "get_weather\n```json\n{\"city\": \"北京\"}\n```<｜tool▁call▁end｜>\n"
                     "<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n{}\n```"
                     "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
      (Told{"", "我来查一下。", {{"get_weather", "{\"city\": \"北京\"}"}, {"g", "{}"}}}));
}

TEST(DeepSeek, ReadsBareArgumentsOfV31) {
  const AnswerOptions options = options_of(CallFormat::deepseek_v31);
  EXPECT_EQ(
      read_every_way(options,
                     "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\": "
                     "\"<｜tool▁call▁end｜>\"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>function"
                     "<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
      (Told{"", "", {{"f", "{\"a\": \"<｜tool▁call▁end｜>\"}"}, {"function", "{}"}}}));
  // Without the marks of the section.
  EXPECT_EQ(read_every_way(options,
                           "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\": 1}<｜tool▁call▁end｜> ok"),
            (Told{"", "ok", {{"f", "{\"a\": 1}"}}}));
}

TEST(DeepSeek, BrokenArgumentsStayText) {
  EXPECT_EQ(read_every_way(deepseek,
                           "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\": 1}}"
                           "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
            (Told{"", "", {{"f", "{\"a\": 1}}"}}}));
  EXPECT_EQ(read_every_way(deepseek,
                           "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n"
                           "city=Paris\n<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
            (Told{"", "", {{"f", "city=Paris"}}}));
  const char* half = "<｜tool▁calls▁begin｜>nothing<｜tool▁calls▁end｜>";
  EXPECT_EQ(read_every_way(deepseek, half), (Told{"", half, {}}));
}

TEST(Kimi, KeepsTheIdThatTheModelWrote) {
  const std::string text =
      "Checking.<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0"
      "<|tool_call_argument_begin|>{\"city\": \"上海\"}<|tool_call_end|><|tool_call_begin|>"
      "functions.g:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>";
  const AnswerOptions options = options_of(CallFormat::kimi_k2);
  EXPECT_EQ(read_every_way(options, text),
            (Told{"", "Checking.", {{"get_weather", "{\"city\": \"上海\"}"}, {"g", "{}"}}}));
  std::vector<std::string> ids;
  for (const AnswerDelta& delta : read_pieces(options, {text}, false)) {
    if (delta.kind == AnswerDelta::Kind::call) ids.push_back(delta.id);
  }
  EXPECT_EQ(ids, (std::vector<std::string>{"functions.get_weather:0", "functions.g:1"}));
}

TEST(Kimi, HeadsOfAnotherFormAreNames) {
  EXPECT_EQ(read_every_way(options_of(CallFormat::kimi_k2),
                           "<|tool_calls_section_begin|> <|tool_call_begin|> search:x "
                           "<|tool_call_argument_begin|> {\"q\": 1} <|tool_call_end|> "
                           "<|tool_calls_section_end|>"),
            (Told{"", "", {{"search:x", "{\"q\": 1}"}}}));
}

TEST(CallIds, AreTheSameForTheSameAnswerAndDifferForOthers) {
  const std::string text =
      "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>"
      "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>";
  AnswerOptions other = hermes;
  other.id_seed = "answer-2";
  std::vector<std::string> ids;
  for (const AnswerOptions& options : {hermes, other, hermes}) {
    for (const AnswerDelta& delta : read_pieces(options, {text}, false)) {
      if (delta.kind == AnswerDelta::Kind::call) ids.push_back(delta.id);
    }
  }
  ASSERT_EQ(ids.size(), 6u);
  EXPECT_EQ(ids[0].size(), 29u);
  EXPECT_EQ(ids[0].substr(0, 5), "call_");
  EXPECT_NE(ids[0], ids[1]);
  EXPECT_NE(ids[0], ids[2]);
  EXPECT_EQ(ids[0], ids[4]);
  EXPECT_EQ(ids[1], ids[5]);
}

}  // namespace
}  // namespace dure
