// Grammars as text: both notations, what they may hold, and what is refused by its line.
#include <gmock/gmock.h>

#include "grammar/testing.h"

namespace dure::grammar {
namespace {

using testing::Case;
using ::testing::HasSubstr;
using testing::matcher_of;
using testing::matches;
using testing::refusal;

void check(const std::vector<Case>& cases) {
  testing::check(cases, compile_ebnf);
}

TEST(Ebnf, ReadsGbnf) {
  check({
      {"root ::= \"yes\" | \"no\"", {"yes", "no"}, {"", "yesno", "y"}},
      {"# a comment\nroot ::= item (\",\" item)*  # more\nitem ::= [a-z]+ | [0-9]{2,3}\n",
       {"ab,12", "123", "a,b,c"},
       {"1", "1234", ",", "a,"}},
      {"root ::= (\n  \"a\" |\n  \"b\"\n)+ [^\\n]? .",
       {"abx", "aé.", "b\n", "abc\n"},
       {"", "a", "a\n\n"}},
      {"root ::= \"\\\"\" [^\"\\\\\\x00-\\x1F]* \"\\\"\"\n",
       {"\"a서b\"", "\"\""},
       {"\"\"\"", "\"\n\""}},
      {"root ::= \"\\u00e9\\n\\t\\\\\" 'x'", {"é\n\t\\x"}, {"e\n\t\\x"}},
      {"root ::= a-b_1\na-b_1 ::= \"a\"{2} \"b\"{,2} \"c\"{1,}",
       {"aac", "aabbcc"},
       {"aa", "aabbbc"}},
      {"root ::= x? y+\nx ::= \"x\"\ny ::= \"y\" | \"(\" root \")\"",
       {"xy", "(xyy)y", "((y))"},
       {"x", "()"}},
      {"root ::= \"\" | \"a\" root", {"a", "", "aaaa"}, {"b"}},
      {"root = \"a\" \"b\" ;", {"ab"}, {"a"}},
  });
}

TEST(Ebnf, ReadsLark) {
  check({
      {"start: expr\n?expr: term ((\"+\" | \"-\") term)*\nterm: NUMBER | \"(\" expr \")\"\nNUMBER: "
       "/[0-9]+/\n",
       {"1+(2-3)", "42"},
       {"", "1+", "()"}},
      {"start: \"select\"i \" \" /[a-c]{1,2}/ [\" where\"]",
       {"SELECT ab where", "select a"},
       {"select", "select abc"}},
      {"// a comment\nstart: a | b -> other\na: \"x\"~2..3\nb: \"y\" ~ 2",
       {"xx", "xxx", "yy"},
       {"x", "y", "xxxx"}},
      {"start: | \"a\" start", {"aa", "a"}, {"b"}},
      {"!start: \"a\"\n", {"a"}, {""}},
  });
}

TEST(Ebnf, TurnsDirectLeftRecursionIntoRepetition) {
  check({{"root ::= root \"+\" n | n\nn ::= [0-9] | n [0-9]", {"1+23+4", "5"}, {"+", "1+", ""}},
         {"root ::= root | root \"a\" | \"b\"", {"baa", "b"}, {"a", "ab"}}});
}

TEST(Ebnf, FollowsAmbiguousGrammars) {
  const Matcher sum = matcher_of(compile_ebnf("root ::= s\ns ::= s \"+\" s | \"a\""));
  std::string text = "a";
  for (int i = 0; i < 3000; ++i) text += "+a";
  EXPECT_TRUE(matches(sum, text));
  EXPECT_FALSE(matches(sum, text + "+"));
  const Matcher pairs = matcher_of(compile_ebnf("root ::= \"a\" root \"a\" | \"a\" root | \"a\""));
  EXPECT_TRUE(matches(pairs, std::string(150, 'a')));
}

TEST(Ebnf, RefusesByLine) {
  const auto message = [](const std::string& grammar) {
    return refusal([&] { compile_ebnf(grammar); }).message();
  };
  EXPECT_THAT(message(""), HasSubstr("no rule is called root"));
  EXPECT_THAT(message("a ::= \"x\""), HasSubstr("no rule is called root"));
  EXPECT_THAT(message("root ::= \"a\"\n\nroot ::= \"b\""),
              HasSubstr("line 3: the rule root is defined twice"));
  EXPECT_THAT(message("root ::= \"a\"\n b"), HasSubstr("the rule b is not defined"));
  EXPECT_THAT(message("root ::= missing"), HasSubstr("line 1: the rule missing is not defined"));
  EXPECT_THAT(message("root ::= \"a"), HasSubstr("closing quote"));
  EXPECT_THAT(message("root ::= (\"a\""), HasSubstr("a ')' is missing"));
  EXPECT_THAT(message("root ::= \"a\")"), HasSubstr("line 1"));
  EXPECT_THAT(message("root ::= [a"), HasSubstr("without its ']'"));
  EXPECT_THAT(message("root ::= \"a\"{2"), HasSubstr("'}' is missing"));
  EXPECT_THAT(message("root ::= \"a\"{3,2}"), HasSubstr("m above n"));
  EXPECT_THAT(message("root ::= \"\\d\""), HasSubstr("inside a literal"));
  EXPECT_THAT(message("root ::= /a/i"), HasSubstr("flags"));
  EXPECT_THAT(message("root ::= <|token|>"), HasSubstr("token in <>"));
  EXPECT_THAT(message("%import common.WS\nstart: WS"), HasSubstr("%import"));
  EXPECT_THAT(message("start: \"a\"\n%ignore \" \""), HasSubstr("line 2: %ignore"));
  EXPECT_THAT(message("start.2: \"a\""), HasSubstr("priority"));
  EXPECT_THAT(message("root \"a\""), HasSubstr("'::=' was expected"));
  EXPECT_THAT(message("root ::= a\na ::= b \"x\"\nb ::= c | \"y\"\nc ::= a \"z\""),
              HasSubstr("left recursion: a -> b -> c -> a"));
  EXPECT_THAT(message("root ::= \"x\"? root \"y\" | \"z\""),
              HasSubstr("left recursion: root -> root"));
  EXPECT_THAT(message("root ::= \"a\" root"), HasSubstr("no text at all"));
}

}  // namespace
}  // namespace dure::grammar
