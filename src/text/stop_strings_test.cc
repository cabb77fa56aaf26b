// Stop strings against a naive search over the whole text, however it is cut.
#include "text/stop_strings.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>

namespace dure {
namespace {

struct Shown {
  std::string text;
  bool stopped = false;
  std::string found;
};

Shown show(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopStrings matcher(stops);
  Shown shown;
  for (const std::string& piece : pieces) shown.text += matcher.push(piece);
  shown.text += matcher.finish();
  shown.stopped = matcher.stopped();
  shown.found = matcher.found();
  return shown;
}

// The first end of any stop string; of those that end there the longest.
Shown show_naively(const std::vector<std::string>& stops, const std::string& text) {
  for (size_t end = 1; end <= text.size(); ++end) {
    std::optional<std::string> best;
    for (const std::string& stop : stops) {
      if (text.substr(0, end).ends_with(stop) && (!best || stop.size() > best->size())) best = stop;
    }
    if (best) return {text.substr(0, end - best->size()), true, *best};
  }
  return {text, false, ""};
}

TEST(StopStrings, LeakNoPieceOfAStopStringThatComesInSeveralTokens) {
  StopStrings matcher({"DEFGHIJ"});
  EXPECT_EQ(matcher.push("ABC"), "ABC");
  EXPECT_EQ(matcher.push("DE"), "");
  EXPECT_EQ(matcher.push("FG"), "");
  EXPECT_EQ(matcher.push("HI"), "");
  EXPECT_EQ(matcher.push("J"), "");
  EXPECT_TRUE(matcher.stopped());
  EXPECT_EQ(matcher.push("KLM"), "");
  EXPECT_EQ(matcher.finish(), "");
}

TEST(StopStrings, ReleaseHeldTextAsSoonAsItCannotBecomeAStopString) {
  StopStrings matcher({"\n\nUser:"});
  EXPECT_EQ(matcher.push("a\n"), "a");
  EXPECT_EQ(matcher.push("\nUs"), "");
  EXPECT_EQ(matcher.push("\n"), "\n\nUs");
  EXPECT_EQ(matcher.push("b"), "\nb");
  EXPECT_EQ(matcher.push("\n"), "");
  EXPECT_EQ(matcher.finish(), "\n");
  EXPECT_FALSE(matcher.stopped());
}

TEST(StopStrings, PassEverythingWhereThereIsNone) {
  const Shown shown = show({}, {"a", "b"});
  EXPECT_EQ(shown.text, "ab");
  EXPECT_FALSE(shown.stopped);
}

TEST(StopStrings, AgreeWithANaiveSearchHoweverTheTextIsCut) {
  std::mt19937 random(5);
  const auto letters = [&](size_t most) {
    std::string text;
    const size_t length = random() % (most + 1);
    for (size_t i = 0; i < length; ++i) text += static_cast<char>('a' + random() % 3);
    return text;
  };
  int stopped = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::string> stops;
    for (size_t i = random() % 4; i > 0; --i) stops.push_back("a" + letters(5));
    const std::string text = letters(30);
    std::vector<std::string> pieces;
    for (size_t at = 0; at < text.size();) {
      pieces.push_back(text.substr(at, 1 + random() % 4));
      at += pieces.back().size();
    }
    const Shown expected = show_naively(stops, text);
    const Shown shown = show(stops, pieces);
    ASSERT_EQ(shown.text, expected.text) << text;
    ASSERT_EQ(shown.stopped, expected.stopped) << text;
    ASSERT_EQ(shown.found, expected.found) << text;
    stopped += expected.stopped ? 1 : 0;
  }
  EXPECT_GT(stopped, 5'000);
}

}  // namespace
}  // namespace dure
