// Every field of a request: what is taken, what is refused and how the error names it.
#include "server/requests.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "server/test_model.h"

namespace dure {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ChatCall chat(const std::string& fields) {
  return parse_chat_call(
      R"({"messages":[{"role":"user","content":"x"}])" + (fields.empty() ? "" : "," + fields) + "}",
      model_of_sizes());
}

// The field that the refusal of a chat request with these fields names; "accepted" if there is
// none.
std::string refused_field(const std::string& fields) {
  try {
    chat(fields);
    return "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_FALSE(error.message().empty());
    return error.field();
  }
}

TEST(ChatRequest, RefusesEveryWrongValueNamingTheField) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("temperature":-1)", "temperature"},
      {R"("temperature":3e38)", "temperature"},
      {R"("temperature":"hot")", "temperature"},
      {R"("temperature":true)", "temperature"},
      {R"("top_p":0)", "top_p"},
      {R"("top_p":9.9)", "top_p"},
      {R"("top_k":-2)", "top_k"},
      {R"("top_k":1.5)", "top_k"},
      {R"("min_p":-1)", "min_p"},
      {R"("min_p":1.01)", "min_p"},
      {R"("seed":1.5)", "seed"},
      {R"("seed":18446744073709551615)", "seed"},
      {R"("presence_penalty":5)", "presence_penalty"},
      {R"("presence_penalty":"much")", "presence_penalty"},
      {R"("frequency_penalty":-3)", "frequency_penalty"},
      {R"("repetition_penalty":0)", "repetition_penalty"},
      {R"("repetition_penalty":-1)", "repetition_penalty"},
      {R"("n":0)", "n"},
      {R"("n":129)", "n"},
      {R"("best_of":2)", "best_of"},
      {R"("n":3,"best_of":4)", "best_of"},
      {R"("top_logprobs":3)", "top_logprobs"},
      {R"("logprobs":false,"top_logprobs":3)", "top_logprobs"},
      {R"("logprobs":true,"top_logprobs":-1)", "top_logprobs"},
      {R"("prompt_logprobs":21)", "prompt_logprobs"},
      {R"("prompt_logprobs":-1)", "prompt_logprobs"},
      {R"("stream":true,"prompt_logprobs":0)", "prompt_logprobs"},
      {R"("logit_bias":{"2048":1})", "logit_bias"},
      {R"("logit_bias":{"-1":1})", "logit_bias"},
      {R"("logit_bias":{"x":1})", "logit_bias"},
      {R"("logit_bias":{"5 ":1})", "logit_bias"},
      {R"("logit_bias":{"5":100.5})", "logit_bias"},
      {R"("logit_bias":{"5":null})", "logit_bias"},
      {R"("logit_bias":{"5":1,"05":2})", "logit_bias"},
      {R"("logit_bias":[5])", "logit_bias"},
      {R"("bad_words":[""])", "bad_words"},
      {R"("bad_words":[7])", "bad_words"},
      {R"("allowed_token_ids":[])", "allowed_token_ids"},
      {R"("allowed_token_ids":[2048])", "allowed_token_ids"},
      {R"("min_tokens":-1)", "min_tokens"},
      {R"("priority":"high")", "priority"},
      {R"("priority":99999999)", "priority"},
      {R"("cache_salt":5)", "cache_salt"},
      {R"("user":5)", "user"},
      {R"("user":")" + std::string(1025, 'u') + R"(")", "user"},
      {R"("cache_salt":")" + std::string(1025, 's') + R"(")", "cache_salt"},
      {R"("logprobs":21)", "logprobs"},
      {R"("top_logprobs":21)", "top_logprobs"},
      {R"("logit_bias":{"999999":1})", "logit_bias"},
      {R"("flab":10)", "flab"},
      {R"("max_tokens":0)", "max_tokens"},
      {R"("max_tokens":-5)", "max_tokens"},
      {R"("max_tokens":"4")", "max_tokens"},
      {R"("max_tokens":99999999999)", "max_tokens"},
      {R"("max_completion_tokens":0)", "max_completion_tokens"},
      {R"("stop":"")", "stop"},
      {R"("stop":[""])", "stop"},
      {R"("stop":5)", "stop"},
      {R"("stop":["a",5])", "stop"},
      {R"("stop":["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16","17"])",
       "stop"},
      {R"("stop_token_ids":[2048])", "stop_token_ids"},
      {R"("stop_token_ids":[-1])", "stop_token_ids"},
      {R"("stop_token_ids":7)", "stop_token_ids"},
      {R"("ignore_eos":1)", "ignore_eos"},
      {R"("stream":"yes")", "stream"},
      {R"("stream_options":{"include_usage":true})", "stream_options"},
      {R"("stream":true,"stream_options":{"include_usage":1})", "stream_options.include_usage"},
      {R"("stream":true,"stream_options":{"flab":1})", "stream_options.flab"},
      {R"("stream":true,"stream_options":[])", "stream_options"},
      {R"("tool_choice":"required")", "tool_choice"},
      {R"("modalities":["audio"])", "modalities"},
      {R"("echo":true)", "echo"},
      {R"("chat_template_kwargs":[1])", "chat_template_kwargs"},
      {R"("chat_template_kwargs":{"messages":[]})", "chat_template_kwargs"},
      {R"("chat_template_kwargs":{"tools":[{}]})", "chat_template_kwargs"},
      {R"("add_generation_prompt":true,"continue_final_message":true)", "continue_final_message"},
      {R"("model":7)", "model"},
      {R"("model":"other")", "model"},
  };
  for (const auto& [fields, expected] : cases) EXPECT_EQ(refused_field(fields), expected) << fields;
}

TEST(ChatRequest, TakesFieldsThatAskForNothing) {
  for (
      const char* fields :
      {R"("temperature":null,"top_p":null,"max_tokens":null,"stop":null,"seed":null)",
       R"("n":1,"logprobs":false,"top_logprobs":0,"logit_bias":{},"tools":[],"tool_choice":"auto")",
       R"("presence_penalty":0,"frequency_penalty":0.0,"repetition_penalty":1.0)",
       R"("response_format":{"type":"text"},"modalities":["text"],"best_of":1,"top_k":-1)",
       R"("user":"u","metadata":{"a":"b"},"store":true,"service_tier":"auto")",
       R"("stop":[],"stream":false,"max_tokens":4.0,"seed":-3)"}) {
    EXPECT_EQ(refused_field(fields), "accepted") << fields;
  }
}

TEST(ChatRequest, RefusesEveryWrongMessageNamingItsPlace) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({})", "messages"},
      {R"({"messages":[]})", "messages"},
      {R"({"messages":"hi"})", "messages"},
      {R"({"messages":["hi"]})", "messages[0]"},
      {R"({"messages":[{"content":"x"}]})", "messages[0].role"},
      {R"({"messages":[{"role":"wizard","content":"x"}]})", "messages[0].role"},
      {R"({"messages":[{"role":"user"}]})", "messages[0].content"},
      {R"({"messages":[{"role":"user","content":5}]})", "messages[0].content"},
      {R"({"messages":[{"role":"user","content":"x"},{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}]})",
       "messages[1].content[0].type"},
      {R"({"messages":[{"role":"user","content":[{"type":"text"}]}]})",
       "messages[0].content[0].text"},
      {R"({"messages":[{"role":"user","content":"x","flab":1}]})", "messages[0].flab"},
      {R"({"messages":[{"role":"assistant","content":null,"tool_calls":{}}]})",
       "messages[0].tool_calls"},
  };
  for (const auto& [body, expected] : cases) {
    try {
      parse_chat_call(body, model_of_sizes());
      ADD_FAILURE() << "accepted " << body;
    } catch (const Error& error) {
      EXPECT_EQ(error.field(), expected) << body << ": " << error.message();
    }
  }
}

TEST(ChatRequest, ReadsWhatTheClientAskedFor) {
  const ChatCall call = chat(
      R"("temperature":0.5,"top_p":0.9,"top_k":40,"min_p":0.1,"seed":-1,"max_tokens":5,"stop":["a","b"],)"
      R"("stop_token_ids":[7],"stream":true,"stream_options":{"include_usage":true},"model":"M")");
  EXPECT_FLOAT_EQ(call.generation.sampling.temperature, 0.5f);
  EXPECT_FLOAT_EQ(call.generation.sampling.top_p, 0.9f);
  EXPECT_FLOAT_EQ(call.generation.sampling.min_p, 0.1f);
  EXPECT_EQ(call.generation.sampling.top_k, 40);
  EXPECT_EQ(call.generation.sampling.seed, ~uint64_t{0});
  EXPECT_EQ(call.generation.max_tokens, 5);
  EXPECT_THAT(call.generation.stop, ElementsAre("a", "b"));
  EXPECT_THAT(call.generation.stop_ids, ElementsAre(7));
  EXPECT_THAT(call.generation.end_ids, ElementsAre(2, 0));
  EXPECT_TRUE(call.generation.stream);
  EXPECT_TRUE(call.generation.include_usage);
}

TEST(ChatRequest, KeepsATopPAboveZeroThatAFloatCannotHold) {
  EXPECT_GT(chat(R"("top_p":5e-324)").generation.sampling.top_p, 0.0f);
  EXPECT_GT(chat(R"("top_p":1e-46)").generation.sampling.top_p, 0.0f);
  EXPECT_GT(chat(R"("repetition_penalty":1e-46)").generation.sampling.repetition_penalty, 0.0f);
}

TEST(ChatRequest, ReadsHowTokensAreDrawn) {
  const GenerationFields made =
      chat(R"("presence_penalty":-2,"frequency_penalty":0.5,"repetition_penalty":1.25,"n":3,)"
           R"("logit_bias":{"7":-100,"12":1.5},"allowed_token_ids":[9,3,9],"bad_words":["a b"],)"
           R"("min_tokens":2,"logprobs":true,"top_logprobs":4,"prompt_logprobs":1,"priority":-5,)"
           R"("cache_salt":"s","user":"u","best_of":3)")
          .generation;
  EXPECT_FLOAT_EQ(made.sampling.presence_penalty, -2.0f);
  EXPECT_FLOAT_EQ(made.sampling.frequency_penalty, 0.5f);
  EXPECT_FLOAT_EQ(made.sampling.repetition_penalty, 1.25f);
  ASSERT_EQ(made.sampling.logit_bias.size(), 2u);
  EXPECT_EQ(made.sampling.logit_bias[0].token, 7);
  EXPECT_FLOAT_EQ(made.sampling.logit_bias[0].bias, -100.0f);
  EXPECT_EQ(made.sampling.logit_bias[1].token, 12);
  EXPECT_THAT(made.sampling.allowed_ids, ElementsAre(3, 9));
  EXPECT_THAT(made.bad_words, ElementsAre("a b"));
  EXPECT_EQ(made.sampling.min_tokens, 2);
  EXPECT_EQ(made.sampling.logprobs, 4);
  EXPECT_EQ(made.sampling.prompt_logprobs, 1);
  EXPECT_EQ(made.choices, 3);
  EXPECT_EQ(made.priority, -5);
  EXPECT_EQ(made.cache_salt, "s");
  EXPECT_EQ(made.user, "u");
}

TEST(ChatRequest, ForgetsTheEndOfSequenceOnlyWhenAskedTo) {
  EXPECT_THAT(chat("").generation.end_ids, ElementsAre(2, 0));
  EXPECT_TRUE(chat(R"("ignore_eos":true)").generation.end_ids.empty());
}

TEST(ChatRequest, DrawsAnotherSeedForEachRequestThatGivesNone) {
  EXPECT_NE(chat("").generation.sampling.seed, chat("").generation.sampling.seed);
}

TEST(ChatRequest, LetsTheNewerNameOfMaxTokensWin) {
  EXPECT_EQ(chat(R"("max_tokens":5,"max_completion_tokens":6)").generation.max_tokens, 6);
}

TEST(ChatRequest, SaysNotFoundForAModelThatIsNotServed) {
  try {
    chat(R"("model":"gpt-5")");
    FAIL();
  } catch (const RequestError& error) {
    EXPECT_EQ(error.status(), 404);
    EXPECT_EQ(error.api_code(), "model_not_found");
    EXPECT_THAT(error.message(), HasSubstr("gpt-5"));
  }
}

TEST(ChatRequest, NeverBreaksOnCornersOfJson) {
  for (const char* name : {"lone-surrogate", "bad-utf8", "deep", "duplicate-key", "big-number"}) {
    const auto file = std::filesystem::path(DURE_SOURCE_DIR) / "testdata/server/requests" /
                      (std::string(name) + ".json");
    std::ifstream in(file, std::ios::binary);
    ASSERT_TRUE(in) << file;
    std::ostringstream text;
    text << in.rdbuf();
    EXPECT_THROW(parse_chat_call(text.str(), model_of_sizes()), Error) << name;
  }
  for (const char* body : {"", "null", "[]", "7", "\"x\"", "{", "{}x", "{\"messages\":NaN}"}) {
    EXPECT_THROW(parse_chat_call(body, model_of_sizes()), Error) << body;
  }
}

TEST(ChatRequest, TakesNulAsText) {
  const ChatCall call =
      parse_chat_call(R"({"messages":[{"role":"user","content":"a\u0000b"}]})", model_of_sizes());
  EXPECT_EQ((*call.conversation.messages)[0]["content"].get<std::string>(), std::string("a\0b", 3));
}

TEST(CompletionRequest, TakesEveryFormOfPrompt) {
  const auto prompts = [](const char* prompt) {
    return parse_completion_call(fmt::format(R"({{"prompt":{}}})", prompt), model_of_sizes())
        .prompts;
  };
  EXPECT_THAT(prompts(R"("a")"), ElementsAre(Prompt("a")));
  EXPECT_THAT(prompts(R"(["a","b"])"), ElementsAre(Prompt("a"), Prompt("b")));
  EXPECT_THAT(prompts("[1,2]"), ElementsAre(Prompt(std::vector<int32_t>{1, 2})));
  EXPECT_THAT(prompts("[[1],[2,3]]"),
              ElementsAre(Prompt(std::vector<int32_t>{1}), Prompt(std::vector<int32_t>{2, 3})));
}

TEST(CompletionRequest, RefusesWrongPromptsAndWhatItDoesNotDo) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({})", "prompt"},
      {R"({"prompt":[]})", "prompt"},
      {R"({"prompt":5})", "prompt"},
      {R"({"prompt":[1,"a"]})", "prompt"},
      {R"({"prompt":[1,2048]})", "prompt"},
      {R"({"prompt":["a",5]})", "prompt[1]"},
      {R"({"prompt":[[1],[-1]]})", "prompt[1]"},
      {R"({"prompt":"a","echo":1})", "echo"},
      {R"({"prompt":"a","echo":true,"logprobs":1,"stream":true})", "echo"},
      {R"({"prompt":"a","suffix":"b"})", "suffix"},
      {R"({"prompt":"a","logprobs":21})", "logprobs"},
      {R"({"prompt":"a","logprobs":true})", "logprobs"},
      {R"({"prompt":["a","b"],"n":1000})", "n"},
      {R"({"prompt":["a","b","c","d","e","f","g","h","i"],"n":128})", "n"},
      {R"({"prompt":"a","max_tokens":-1})", "max_tokens"},
      {R"({"prompt":"a","messages":[]})", "messages"},
  };
  for (const auto& [body, expected] : cases) {
    try {
      parse_completion_call(body, model_of_sizes());
      ADD_FAILURE() << "accepted " << body;
    } catch (const Error& error) {
      EXPECT_EQ(error.field(), expected) << body << ": " << error.message();
    }
  }
}

TEST(CompletionRequest, ToldLogprobsOfTheAnswerAreThePromptsTooWhereItIsEchoed) {
  const auto sampling = [](const char* fields) {
    return parse_completion_call(fmt::format(R"({{"prompt":"a",{}}})", fields), model_of_sizes())
        .generation.sampling;
  };
  EXPECT_EQ(sampling(R"("logprobs":0)").logprobs, 0);
  EXPECT_EQ(sampling(R"("logprobs":0)").prompt_logprobs, -1);
  EXPECT_EQ(sampling(R"("logprobs":3,"echo":true)").prompt_logprobs, 3);
  EXPECT_EQ(sampling(R"("logprobs":3,"echo":true,"prompt_logprobs":5)").prompt_logprobs, 5);
  EXPECT_EQ(sampling(R"("echo":true)").prompt_logprobs, -1);
}

TEST(CompletionRequest, GivesSixteenTokensWhereNothingIsSaid) {
  const CompletionCall call = parse_completion_call(R"({"prompt":"a"})", model_of_sizes());
  EXPECT_FALSE(call.generation.max_tokens);
  EXPECT_EQ(call.generation.default_max_tokens, 16);
}

TEST(TokenizeRequest, TakesTextOrMessages) {
  EXPECT_EQ(std::get<std::string>(parse_tokenize_call(R"({"prompt":"a"})", model_of_sizes()).input),
            "a");
  EXPECT_NO_THROW(
      parse_tokenize_call(R"({"messages":[{"role":"user","content":"a"}]})", model_of_sizes()));
  EXPECT_THROW(parse_tokenize_call("{}", model_of_sizes()), Error);
  EXPECT_THROW(parse_tokenize_call(R"({"prompt":"a","messages":[{"role":"user","content":"a"}]})",
                                   model_of_sizes()),
               Error);
  EXPECT_THAT(parse_detokenize_call(R"({"tokens":[1,2]})", model_of_sizes()), ElementsAre(1, 2));
  EXPECT_THROW(parse_detokenize_call(R"({"tokens":[5000]})", model_of_sizes()), Error);
  EXPECT_THROW(parse_detokenize_call("{}", model_of_sizes()), Error);
}

}  // namespace
}  // namespace dure
