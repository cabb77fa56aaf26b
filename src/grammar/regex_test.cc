// Patterns against naive definitions, over all short texts; and what is refused.
#include <gmock/gmock.h>

#include <regex>
#include <set>

#include "grammar/testing.h"

namespace dure::grammar {
namespace {

using testing::byte_tokens;
using ::testing::HasSubstr;
using testing::matcher_of;
using testing::matches;
using testing::refusal;

std::vector<std::string> all_texts(std::string_view alphabet, size_t longest) {
  std::vector<std::string> out{""};
  for (size_t begin = 0, size = 1; size <= longest; ++size) {
    const size_t end = out.size();
    for (; begin < end; ++begin) {
      for (const char c : alphabet) out.push_back(out[begin] + c);
    }
  }
  return out;
}

// What a pattern means: where it can stop, if it begins at `from`.
struct Naive {
  char kind = '.';  // 'c'har, '.', '|', 's'equence, 'r'epeat
  char character = 0;
  int low = 0, high = 0;  // high -1: open
  std::vector<Naive> parts;

  std::set<size_t> ends(std::string_view text, size_t from) const {
    switch (kind) {
      case 'c':
        if (from < text.size() && text[from] == character) return {from + 1};
        return {};
      case '.':
        if (from < text.size()) return {from + 1};
        return {};
      case '|': {
        std::set<size_t> out;
        for (const Naive& part : parts) out.merge(part.ends(text, from));
        return out;
      }
      case 's': {
        std::set<size_t> at{from};
        for (const Naive& part : parts) at = after(part, text, at);
        return at;
      }
      default: {
        std::set<size_t> at{from}, out;
        for (int i = 0; i <= (high < 0 ? low + static_cast<int>(text.size()) : high); ++i) {
          if (i >= low) out.insert(at.begin(), at.end());
          at = after(parts[0], text, at);
        }
        return out;
      }
    }
  }

  static std::set<size_t> after(const Naive& part, std::string_view text,
                                const std::set<size_t>& at) {
    std::set<size_t> out;
    for (const size_t from : at) out.merge(part.ends(text, from));
    return out;
  }

  std::string pattern() const {
    switch (kind) {
      case 'c':
        return std::string(1, character);
      case '.':
        return ".";
      case '|':
        return "(" + joined("|") + ")";
      case 's':
        return "(?:" + joined("") + ")";
      default:
        return parts[0].pattern() + "{" + std::to_string(low) + "," +
               (high < 0 ? "" : std::to_string(high)) + "}";
    }
  }

  std::string joined(std::string_view between) const {
    std::string out;
    for (const Naive& part : parts) {
      if (&part != &parts[0]) out += between;
      out += part.pattern();
    }
    return out;
  }
};

Naive random_pattern(std::mt19937& random, int depth) {
  Naive out;
  const auto kind = depth == 0 ? random() % 3 : random() % 8;
  if (kind < 2) {
    out.kind = 'c';
    out.character = kind == 0 ? 'a' : 'b';
  } else if (kind >= 3) {
    out.kind = kind < 5 ? 's' : kind < 6 ? '|' : 'r';
    for (auto parts = out.kind == 'r' ? 1 : random() % 3 + (out.kind == '|' ? 1 : 0); parts > 0;
         --parts) {
      out.parts.push_back(random_pattern(random, depth - 1));
    }
    out.low = static_cast<int>(random() % 3);
    out.high = random() % 3 == 0 ? -1 : out.low + static_cast<int>(random() % 3);
    // A repeat of a repeat needs a group between.
    if (out.kind == 'r' && out.parts[0].kind == 'r') out.parts[0] = {'s', 0, 0, 0, {out.parts[0]}};
  }
  return out;
}

TEST(Regex, AgreesWithTheDefinitionOnAllShortTextsForRandomPatterns) {
  const std::vector<std::string> texts = all_texts("ab", 7);
  std::mt19937 random(20);
  for (int i = 0; i < 300; ++i) {
    const Naive naive = random_pattern(random, 4);
    const std::string pattern = naive.pattern();
    SCOPED_TRACE(pattern);
    const Matcher matcher = matcher_of(compile_regex(pattern));
    std::set<std::string> language;
    for (const std::string& text : texts) {
      const bool expected = naive.ends(text, 0).contains(text.size());
      ASSERT_EQ(matches(matcher, text), expected) << text;
      if (expected) language.insert(text);
    }
    // Each prefix of a text of the language can be reached, byte by byte, through the masks.
    const auto tokens = byte_tokens();
    std::set<std::string> prefixes;
    for (const std::string& text : language) {
      for (size_t size = 0; size < text.size(); ++size) prefixes.insert(text.substr(0, size));
    }
    for (const std::string& prefix : prefixes) {
      Matcher at = matcher;
      ASSERT_TRUE(at.accept_bytes(prefix));
      const std::vector<uint32_t> next = testing::allowed(at, *tokens);
      for (const char c : {'a', 'b'}) {
        const auto extends = language.lower_bound(prefix + c);
        if (extends == language.end() || !extends->starts_with(prefix + c)) continue;
        EXPECT_THAT(next, ::testing::Contains(static_cast<uint32_t>(c))) << prefix;
      }
    }
  }
}

TEST(Regex, AgreesWithAnotherEngineOnAllShortTexts) {
  const std::vector<std::string> texts = all_texts("ab0-]\n", 5);
  for (const char* pattern : {"a",        "",         "a|b",
                              "(a|b)*0",  "a+b?",     "[ab]{2,3}",
                              "[^a]*",    "[]a]+",    "[a\\-0]*",
                              "a{2}",     "a{2,}b",   "(ab|0)*(-|b)?",
                              "\\d+[-b]", "\\w*-\\w", "\\s?a",
                              "\\W+",     "\\D\\S",   ".*b.",
                              "a.b",      "(a*)*b",   "((a|b)(0|-)){1,2}",
                              "a??b",     "a*?b",     "(?:a|)b",
                              "^ab$",     "^(a|b0)$", "\\x61[\\u0062]",
                              "[a-b0-]+", "\\]",      "-|]|a\\n"}) {
    SCOPED_TRACE(pattern);
    // The other engine takes [] for nothing.
    std::string theirs = pattern;
    if (theirs == "[]a]+") theirs = "[\\]a]+";
    const std::regex other(theirs);
    const Matcher matcher = matcher_of(compile_regex(pattern));
    for (const std::string& text : texts) {
      ASSERT_EQ(matches(matcher, text), std::regex_match(text, other)) << text;
    }
  }
}

TEST(Regex, ReadsCharactersOfAllLengthsAsUtf8) {
  const Matcher any = matcher_of(compile_regex("."));
  for (const char* text :
       {"a", "\x7F", "é", "߿", "ࠀ", "서", "\uD7FF", "\uE000", "😀", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(matches(any, text)) << text;
  }
  for (const char* text : {"\n", "\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80",
                           "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xFF", "aa"}) {
    EXPECT_FALSE(matches(any, text));
  }
  const Matcher hangul = matcher_of(compile_regex("[가-힣]+"));
  EXPECT_TRUE(matches(hangul, "서울힣가"));
  EXPECT_FALSE(matches(hangul, "서울a"));
  const Matcher negated = matcher_of(compile_regex("[^서\\x{1F600}]"));
  EXPECT_FALSE(matches(negated, "서"));
  EXPECT_FALSE(matches(negated, "😀"));
  EXPECT_TRUE(matches(negated, "섞"));
  EXPECT_TRUE(matches(negated, "😁"));
  EXPECT_TRUE(matches(matcher_of(compile_regex("\\ud83d\\ude00")), "😀"));
}

TEST(Regex, LetsATokenEndInsideACharacter) {
  const auto tokens = testing::mixed_tokens();
  Matcher matcher = matcher_of(compile_regex("(서|😀)+"), tokens);
  testing::expect_exact_mask(matcher, *tokens);
  ASSERT_TRUE(matcher.accept_bytes("\xEC\x84"));
  EXPECT_FALSE(matcher.may_end());
  testing::expect_exact_mask(matcher, *tokens);
  ASSERT_TRUE(matcher.accept_bytes("\x9C"));
  EXPECT_TRUE(matcher.may_end());
}

TEST(Regex, CountsLongRepeats) {
  const Matcher long_one = matcher_of(compile_regex("(?:ab?){990,1000}c"));
  std::string text(989, 'a');
  EXPECT_FALSE(matches(long_one, text + "c"));
  for (int count = 990; count <= 1000; ++count) {
    text += 'a';
    EXPECT_TRUE(matches(long_one, text + "c")) << count;
  }
  EXPECT_FALSE(matches(long_one, text + "ac"));
  const Matcher nested = matcher_of(compile_regex("(a{100}){30}"));
  EXPECT_TRUE(matches(nested, std::string(3000, 'a')));
  EXPECT_FALSE(matches(nested, std::string(2999, 'a')));
  EXPECT_FALSE(matches(nested, std::string(3001, 'a')));
}

TEST(Regex, AnswersPatternsWhoseDeterministicAutomatonIsExponential) {
  Matcher matcher = matcher_of(compile_regex("[ab]*a[ab]{13}"));
  EXPECT_TRUE(matches(matcher, "bbbabbbbbbbbbbbbb"));
  EXPECT_FALSE(matches(matcher, "bbbbabbbbbbbbbbbb"));
  const Matcher longer = matcher_of(compile_regex("[ab]*a[ab]{400}"));
  EXPECT_TRUE(matches(longer, "a" + std::string(400, 'b')));
  EXPECT_FALSE(matches(longer, std::string(401, 'b')));
}

TEST(Regex, RefusesByNameWhatAnAutomatonCannotMatch) {
  const auto message = [](const std::string& pattern) {
    return refusal([&] { compile_regex(pattern); }).message();
  };
  EXPECT_THAT(message("(a)\\1"), HasSubstr("back-reference \\1"));
  EXPECT_THAT(message("(?P<n>a)(?P=n)"), HasSubstr("back-reference (?P="));
  EXPECT_THAT(message("\\k<n>"), HasSubstr("back-reference \\k"));
  EXPECT_THAT(message("a(?=b)"), HasSubstr("look-around (?="));
  EXPECT_THAT(message("a(?!b)"), HasSubstr("look-around (?!"));
  EXPECT_THAT(message("(?<=b)a"), HasSubstr("look-around (?<="));
  EXPECT_THAT(message("(?<!b)a"), HasSubstr("look-around (?<!"));
  EXPECT_THAT(message("\\bword"), HasSubstr("word boundary \\b"));
  EXPECT_THAT(message("(?>a)"), HasSubstr("atomic group"));
  EXPECT_THAT(message("a*+"), HasSubstr("possessive"));
  EXPECT_THAT(message("(?i)a"), HasSubstr("inline flag"));
  EXPECT_THAT(message("\\p{L}"), HasSubstr("Unicode property \\p"));
  EXPECT_THAT(message("[[:alpha:]]"), HasSubstr("POSIX class"));
  EXPECT_THAT(message("a^b"), HasSubstr("anchor '^' in the middle"));
  EXPECT_THAT(message("a$b"), HasSubstr("anchor '$' in the middle"));
  EXPECT_THAT(message("\\q"), HasSubstr("\\q is not supported"));
}

TEST(Regex, RefusesBrokenPatternsByPlace) {
  const auto message = [](const std::string& pattern) {
    return refusal([&] { compile_regex(pattern); }).message();
  };
  EXPECT_THAT(message("(ab"), HasSubstr("'(' without its ')' at byte 4"));
  EXPECT_THAT(message("ab)"), HasSubstr("')' without its '(' at byte 3"));
  EXPECT_THAT(message("[ab"), HasSubstr("'[' without its ']' at byte 2"));
  EXPECT_THAT(message("*a"), HasSubstr("nothing before it at byte 1"));
  EXPECT_THAT(message("a**"), HasSubstr("quantifier behind a quantifier"));
  EXPECT_THAT(message("a{3,2}"), HasSubstr("m above n"));
  EXPECT_THAT(message("[b-a]"), HasSubstr("from high to low"));
  EXPECT_THAT(message("a\\"), HasSubstr("nothing behind it"));
  EXPECT_THAT(message("\\xZZ"), HasSubstr("\\x without its hex digits"));
  EXPECT_THAT(message("\\ud800"), HasSubstr("no character"));
  EXPECT_THAT(message("\xFF"), HasSubstr("not UTF-8"));
  EXPECT_THAT(message("[^\\x00-\\x{10FFFF}]"), HasSubstr("no text at all"));
}

TEST(Regex, TakesBracesThatAreNoCountForText) {
  EXPECT_TRUE(matches(matcher_of(compile_regex("a{,2}")), "a{,2}"));
  EXPECT_TRUE(matches(matcher_of(compile_regex("{\"k\"}")), "{\"k\"}"));
}

TEST(Choice, IsOneOfTheTextsAndNothingElse) {
  std::vector<std::string> texts{"ja", "jawohl", "nein", "서울", "서"};
  const auto tokens = testing::mixed_tokens();
  Matcher matcher = matcher_of(compile_choice(texts), tokens);
  for (const std::string& text : texts) EXPECT_TRUE(matches(matcher, text));
  for (const char* text : {"", "j", "jaw", "jawohlja", "\xEC\x84"})
    EXPECT_FALSE(matches(matcher, text));
  testing::expect_exact_mask(matcher, *tokens);
  ASSERT_TRUE(matcher.accept_bytes("ja"));
  EXPECT_TRUE(matcher.may_end());
  EXPECT_FALSE(matcher.must_end());
  ASSERT_TRUE(matcher.accept_bytes("wohl"));
  EXPECT_TRUE(matcher.must_end());
}

TEST(Choice, TakesTenThousandTextsAndRefusesNoneEmptyAndTooMany) {
  std::vector<std::string> texts;
  for (int i = 0; i < 10'000; ++i) texts.push_back("text " + std::to_string(i * 7919));
  const Matcher matcher = matcher_of(compile_choice(texts));
  for (const std::string& text : texts) ASSERT_TRUE(matches(matcher, text));
  EXPECT_FALSE(matches(matcher, "text 1"));
  EXPECT_THAT(refusal([] { compile_choice({}); }).message(), HasSubstr("no texts"));
  EXPECT_THAT(refusal([] { compile_choice({"a", ""}); }).message(), HasSubstr("empty"));
  EXPECT_THAT(refusal([] { compile_choice({"\xFF"}); }).message(), HasSubstr("UTF-8"));
  EXPECT_THAT(refusal([] { compile_choice({std::string(2 << 20, 'a')}); }).message(),
              HasSubstr("the limit is"));
}

}  // namespace
}  // namespace dure::grammar
