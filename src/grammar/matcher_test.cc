// The matcher and its masks: over real vocabularies, shared by threads, bounded in memory and work.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/json.h"
#include "grammar/testing.h"
#include "text/token_bytes.h"

namespace dure::grammar {
namespace {

using testing::matcher_of;
using testing::matches;

constexpr const char* person =
    R"({"type":"object","properties":{"name":{"type":"string","maxLength":30},
  "age":{"type":"integer","minimum":0,"maximum":150},"tags":{"type":"array","items":{"type":"string"},"maxItems":20},
  "city":{"enum":["서울","도쿄"]},"friends":{"type":"array","items":{"$ref":"#"}}},"required":["name","age"]})";

std::shared_ptr<const TokenTrie> real_tokens() {
  static const auto trie = std::make_shared<TokenTrie>(token_bytes(
      *Tokenizer::load(std::filesystem::path(DURE_SOURCE_DIR) / "testdata/tokenizers/qwen3")));
  return trie;
}

TEST(TokenTrie, HoldsEveryTokenOnceInDepthFirstOrder) {
  const std::vector<std::string> tokens{"b", "", "a", "abc", "a", "ab\xFF", std::string("\0x", 2)};
  const TokenTrie trie(tokens);
  EXPECT_EQ(trie.vocabulary_size(), tokens.size());
  EXPECT_EQ(trie.mask_words(), 1U);
  EXPECT_EQ(trie.longest_token(), 3U);
  for (uint32_t id = 0; id < tokens.size(); ++id) EXPECT_EQ(trie.bytes(id), tokens[id]);
  std::vector<std::string> found(tokens.size());
  std::string path;
  for (size_t at = 1; at + 1 < trie.nodes().size(); ++at) {
    const TokenTrie::Node& node = trie.nodes()[at];
    path.resize(node.depth - 1U);
    path.push_back(static_cast<char>(node.byte));
    EXPECT_GE(node.deepest, node.depth);
    for (uint32_t i = node.first_token; i < trie.nodes()[at + 1].first_token; ++i)
      found[trie.tokens()[i]] = path;
  }
  EXPECT_EQ(found, tokens);
  EXPECT_THROW(TokenTrie({std::string(70'000, 'a')}), Error);
}

TEST(Matcher, LeavesItsStateAloneWhenItRefuses) {
  const auto tokens = testing::mixed_tokens();
  Matcher matcher = matcher_of(compile_regex("ab+c"), tokens);
  ASSERT_TRUE(matcher.accept_bytes("ab"));
  const auto before = testing::allowed(matcher, *tokens);
  EXPECT_FALSE(matcher.accept_bytes("bbx"));
  EXPECT_FALSE(matcher.accept(256));  // a special token
  EXPECT_FALSE(matcher.accept(100'000));
  EXPECT_EQ(testing::allowed(matcher, *tokens), before);
  EXPECT_TRUE(matcher.accept_bytes("bc"));
  EXPECT_TRUE(matcher.must_end());
  EXPECT_THAT(testing::allowed(matcher, *tokens), ::testing::IsEmpty());
}

TEST(Matcher, SaysThatItsWorkDoesNotSufficeAndHasChangedNothing) {
  const auto tokens = real_tokens();
  Matcher matcher = matcher_of(compile_regex("([ab]*a[ab]{13}|x)+"), tokens);
  const auto next = static_cast<uint32_t>(testing::allowed(matcher, *tokens).front());
  uint64_t work = 2;
  EXPECT_FALSE(matcher.accept(next, work));
  EXPECT_EQ(work, 0U);
  work = 100'000;
  EXPECT_TRUE(matcher.accept(next, work));
  EXPECT_LT(work, 100'000U);
  EXPECT_GT(work, 0U);
  const uint64_t left = work;
  EXPECT_FALSE(matcher.accept(256'000, work));  // refused, not cut short
  EXPECT_EQ(work, left);

  std::vector<uint64_t> mask(tokens->mask_words());
  work = 1'000;
  EXPECT_FALSE(matcher.fill_mask(mask, work));
  EXPECT_EQ(work, 0U);
  std::vector<uint64_t> whole(tokens->mask_words());
  matcher.fill_mask(whole);
  work = 10'000;  // of what was made just now
  EXPECT_TRUE(matcher.fill_mask(mask, work));
  EXPECT_GT(work, 0U);
  EXPECT_EQ(mask, whole);
}

TEST(Matcher, IsRebuiltByReplayAndCopied) {
  const auto tokens = testing::mixed_tokens();
  const Matcher fresh = matcher_of(compile_json_schema(person), tokens);
  std::mt19937 random(9);
  Matcher matcher = fresh;
  std::vector<uint32_t> taken;
  for (int i = 0; i < 60 && !matcher.must_end(); ++i) {
    const auto choices = testing::allowed(matcher, *tokens);
    taken.push_back(choices[random() % choices.size()]);
    const Matcher copy = matcher;
    ASSERT_TRUE(matcher.accept(taken.back()));
    EXPECT_EQ(testing::allowed(copy, *tokens), choices);
    Matcher replayed = fresh;
    for (const uint32_t token : taken) ASSERT_TRUE(replayed.accept(token));
    EXPECT_EQ(testing::allowed(replayed, *tokens), testing::allowed(matcher, *tokens));
    EXPECT_EQ(replayed.may_end(), matcher.may_end());
  }
}

TEST(Matcher, HasAnEmptyMaskWhereTheVocabularyLacksTheBytes) {
  const auto tokens = std::make_shared<TokenTrie>(std::vector<std::string>{"a", "c"});
  Matcher matcher = matcher_of(compile_regex("ab"), tokens);
  ASSERT_TRUE(matcher.accept(0));
  EXPECT_THAT(testing::allowed(matcher, *tokens), ::testing::IsEmpty());
  EXPECT_FALSE(matcher.may_end());
  EXPECT_FALSE(matcher.must_end());
}

TEST(Matcher, MasksOfARealVocabularyHoldExactlyWhatIsAccepted) {
  const auto tokens = real_tokens();
  struct Case {
    std::shared_ptr<const Grammar> grammar;
    std::vector<std::string> texts;
  };
  for (const auto& [grammar, texts] : std::vector<Case>{
           {compile_json_object(), {"{\"", "{\"a\": [1, \"x"}},
           {compile_json_schema(person),
            {"{\"name\":\"", "{\"name\":\"0123456789012345678901234", "{\"name\": \"\xEC\x84"}},
           {compile_regex("[^ ]{3,25}|( |\\n){20}"), {"", "a", "    "}},
           {compile_ebnf("root ::= w (\" \" w)* \"!\"\nw ::= [가-힣a-z]+"), {"", "서", "ab c"}}}) {
    for (const std::string& text : texts) {
      SCOPED_TRACE(text);
      Matcher matcher = matcher_of(grammar, tokens);
      ASSERT_TRUE(matcher.accept_bytes(text));
      testing::expect_exact_mask(matcher, *tokens);
    }
  }
}

TEST(Matcher, WalksThroughARealVocabularyEndInDocuments) {
  const auto tokens = real_tokens();
  const Matcher matcher = matcher_of(compile_json_schema(person), tokens);
  std::mt19937 random(2);
  for (int i = 0; i < 30; ++i) {
    const std::string text = testing::random_walk(matcher, *tokens, random, 30);
    const Json value = parse_json(text, "the walk");
    EXPECT_TRUE(value.contains("name") && value.contains("age")) << text;
  }
}

TEST(Matcher, MasksAreTheSameFromManyThreads) {
  const auto tokens = testing::mixed_tokens();
  const auto grammar = compile_json_object();
  const auto constraint = std::make_shared<Constraint>(grammar, tokens);
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      for (int i = 0; i < 10; ++i) {
        Matcher shared(constraint);
        Matcher alone = matcher_of(grammar, tokens);
        for (int step = 0; step < 40 && !shared.must_end(); ++step) {
          const auto choices = testing::allowed(shared, *tokens);
          ASSERT_EQ(choices, testing::allowed(alone, *tokens));
          const uint32_t token = choices[random() % choices.size()];
          ASSERT_TRUE(shared.accept(token) && alone.accept(token));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Grammars with more parses than are followed: what is produced is right all the same, and the
// matcher stays small.
TEST(Matcher, StaysSmallAndRightWhateverTheGrammar) {
  const auto tokens = testing::mixed_tokens();
  struct Case {
    std::shared_ptr<const Grammar> grammar;
    std::string again;  // repeated, a text that the grammar allows
  };
  for (const auto& [grammar, again] :
       std::vector<Case>{{compile_regex("(a{0,1000}){0,1000}"), "a"},
                         {compile_regex("((a|b|ab|ba){0,500}c?){0,500}"), "abba"},
                         {compile_regex("[ab]*a[ab]{3000}"), "ab"},
                         {compile_ebnf("root ::= s\ns ::= s s | \"a\" | \"(\" s \")\""), "a(a)"},
                         {compile_ebnf("root ::= \"[\" root \"]\" | \"[\" root | \"[\""), "["}}) {
    Matcher matcher = matcher_of(grammar, tokens);
    size_t accepted = 0;
    for (int i = 0; i < 150 && matcher.accept_bytes(again); ++i) {
      ++accepted;
      EXPECT_LT(matcher.bytes(), 100'000U);
    }
    EXPECT_GT(accepted, 100U) << again;
    EXPECT_THAT(testing::allowed(matcher, *tokens), ::testing::Not(::testing::IsEmpty()));
  }
}

TEST(Matcher, TakesTokensByTheirBytesWhateverTheirIds) {
  const auto tokens =
      std::make_shared<TokenTrie>(std::vector<std::string>{"ab", "", "a", "b", "a"});
  Matcher matcher = matcher_of(compile_regex("a(b|c)"), tokens);
  EXPECT_THAT(testing::allowed(matcher, *tokens), ::testing::ElementsAre(0, 2, 4));
  ASSERT_TRUE(matcher.accept(4));
  EXPECT_THAT(testing::allowed(matcher, *tokens), ::testing::ElementsAre(3));
}

}  // namespace
}  // namespace dure::grammar
