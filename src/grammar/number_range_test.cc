// Number ranges of schemas against comparing the numbers.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "grammar/testing.h"

namespace dure::grammar {
namespace {

using ::testing::HasSubstr;
using testing::matcher_of;
using testing::matches;
using testing::refusal;

Matcher integers(const std::string& bounds) {
  return matcher_of(compile_json_schema(R"({"type":"integer",)" + bounds + "}"));
}

TEST(IntegerRange, HoldsExactlyTheIntegersBetweenTheBounds) {
  std::mt19937 random(4);
  for (int i = 0; i < 150; ++i) {
    const int a = static_cast<int>(random() % 2400) - 1200,
              b = static_cast<int>(random() % 2400) - 1200;
    const int low = std::min(a, b), high = std::max(a, b);
    const Matcher both = integers(fmt::format(R"("minimum":{},"maximum":{})", low, high));
    const Matcher least = integers(fmt::format(R"("exclusiveMinimum":{})", low));
    const Matcher most = integers(fmt::format(R"("exclusiveMaximum":{})", high));
    for (int value = -1300; value <= 1300; ++value) {
      const std::string text = fmt::format("{}", value);
      ASSERT_EQ(matches(both, text), low <= value && value <= high)
          << text << " in " << low << ".." << high;
      ASSERT_EQ(matches(least, text), value > low) << text << " > " << low;
      ASSERT_EQ(matches(most, text), value < high) << text << " < " << high;
    }
    for (const char* text : {"-0", "007", "-01", "1.0", "1e2", ""})
      EXPECT_FALSE(matches(both, text));
  }
}

TEST(IntegerRange, GoesToTheEndsOfSixtyFourBits) {
  const Matcher wide = integers(R"("minimum":-9223372036854775806,"maximum":9223372036854775806)");
  EXPECT_TRUE(matches(wide, "-9223372036854775806"));
  EXPECT_FALSE(matches(wide, "-9223372036854775807"));
  EXPECT_TRUE(matches(wide, "9223372036854775806"));
  EXPECT_FALSE(matches(wide, "9223372036854775807"));
  EXPECT_FALSE(matches(wide, "10000000000000000000"));
  EXPECT_TRUE(matches(integers(R"("minimum":5)"), "123456789012345678901234567890"));
  EXPECT_THAT(refusal([] { integers(R"("maximum":1e30)"); }).message(), HasSubstr("64 bits"));
  EXPECT_THAT(refusal([] { integers(R"("minimum":3,"maximum":2)"); }).message(),
              HasSubstr("no integer"));
}

TEST(IntegerRange, RoundsFractionalBoundsInwards) {
  const Matcher matcher = integers(R"("minimum":1.5,"maximum":3.5)");
  for (int value = -1; value <= 5; ++value) {
    EXPECT_EQ(matches(matcher, fmt::format("{}", value)), value == 2 || value == 3) << value;
  }
  EXPECT_TRUE(matches(integers(R"("exclusiveMinimum":1.5)"), "2"));
}

TEST(IntegerRange, ReadsTheBooleanExclusiveBoundsOfDraft4) {
  const Matcher matcher =
      integers(R"("minimum":1,"exclusiveMinimum":true,"maximum":3,"exclusiveMaximum":false)");
  EXPECT_FALSE(matches(matcher, "1"));
  EXPECT_TRUE(matches(matcher, "2"));
  EXPECT_TRUE(matches(matcher, "3"));
}

// A number of hundredths as text, with and without zeros at the end.
std::vector<std::string> spellings(int hundredths) {
  const std::string sign = hundredths < 0 ? "-" : "";
  const int size = std::abs(hundredths);
  std::vector<std::string> out{fmt::format("{}{}.{:02}", sign, size / 100, size % 100),
                               fmt::format("{}{}.{:02}00", sign, size / 100, size % 100)};
  if (size % 10 == 0) out.push_back(fmt::format("{}{}.{}", sign, size / 100, size % 100 / 10));
  if (size % 100 == 0) out.push_back(fmt::format("{}{}", sign, size / 100));
  return out;
}

TEST(DecimalRange, HoldsExactlyTheFractionsBetweenTheBounds) {
  std::mt19937 random(5);
  for (int i = 0; i < 150; ++i) {
    const int span = i % 3 == 0 ? 30 : 2500;
    const int a = static_cast<int>(random() % static_cast<unsigned>(span)) - span / 2;
    const int b = static_cast<int>(random() % static_cast<unsigned>(span)) - span / 2;
    const int low = std::min(a, b), high = std::max(a, b) + 1;
    const bool above = random() % 2 == 0, below = random() % 2 == 0;
    const std::string least =
        fmt::format(R"("{}":{})", above ? "exclusiveMinimum" : "minimum", low / 100.0);
    const std::string most =
        fmt::format(R"("{}":{})", below ? "exclusiveMaximum" : "maximum", high / 100.0);
    const auto numbers = [](const std::string& bounds) {
      return matcher_of(compile_json_schema(R"({"type":"number",)" + bounds + "}"));
    };
    const Matcher both = numbers(least + "," + most), only_low = numbers(least),
                  only_high = numbers(most);
    for (int value = -1300; value <= 1300; ++value) {
      const bool is_above = above ? value > low : value >= low;
      const bool is_below = below ? value < high : value <= high;
      for (const std::string& text : spellings(value)) {
        ASSERT_EQ(matches(both, text), is_above && is_below) << text << " in " << least << most;
        ASSERT_EQ(matches(only_low, text), is_above) << text << " in " << least;
        ASSERT_EQ(matches(only_high, text), is_below) << text << " in " << most;
      }
    }
    for (const char* text : {"-0", "-0.00", "01", "1.", ".5", "1e0", ""})
      EXPECT_FALSE(matches(both, text));
  }
}

TEST(DecimalRange, ReadsSmallAndLargeBoundsExactly) {
  const Matcher tiny =
      matcher_of(compile_json_schema(R"({"type":"number","minimum":1e-7,"maximum":12e3})"));
  EXPECT_TRUE(matches(tiny, "0.0000001"));
  EXPECT_FALSE(matches(tiny, "0.00000009999"));
  EXPECT_TRUE(matches(tiny, "12000.000"));
  EXPECT_FALSE(matches(tiny, "12000.0001"));
  EXPECT_THAT(
      refusal([] { compile_json_schema(R"({"type":"number","maximum":1e300})"); }).message(),
      HasSubstr("18 digits"));
  EXPECT_THAT(refusal([] {
                compile_json_schema(R"({"type":"number","minimum":1,"exclusiveMaximum":1})");
              }).message(),
              HasSubstr("no number"));
}

TEST(UnboundedNumber, IsWhatJsonAllows) {
  const Matcher matcher = matcher_of(compile_json_schema(R"({"type":"number"})"));
  for (const char* text : {"0", "-0", "1.50", "-12e+10", "3E-2", "1e400"})
    EXPECT_TRUE(matches(matcher, text));
  for (const char* text : {"01", "1.", "+1", ".5", "1e", "NaN", "-"})
    EXPECT_FALSE(matches(matcher, text));
}

}  // namespace
}  // namespace dure::grammar
