#include "cli/table.h"

#include <gmock/gmock.h>

#include "cli/progress.h"
#include "cli/terminal.h"

namespace dure {
namespace {

using ::testing::HasSubstr;

TEST(Table, AlignsByWhatATerminalShows) {
  Table table({{"name", Table::Align::left}, {"bytes", Table::Align::right}});
  table.add({"두레", "1"});
  table.add({"abcdef", "1000"});
  EXPECT_EQ(table.text(),
            "name    bytes\n"
            "두레        1\n"
            "abcdef   1000\n");
}

TEST(Table, WithoutHeadingsPrintsRowsOnly) {
  Table table({{""}, {""}});
  table.add({"a", ""});
  EXPECT_EQ(table.text(), "a\n");
}

TEST(Terminal, WidthsOfWideAndCombiningCharacters) {
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("두레"), 4);
  EXPECT_EQ(display_width("e\xCC\x81"), 1);  // e and a combining accent
  EXPECT_EQ(display_width("×–█"), 3);
  EXPECT_GE(display_width("\xFF\xE0"), 0);  // broken UTF-8 is no crash
}

TEST(Progress, SaysBytesSpeedAndTimeLeftAndFitsTheLine) {
  const std::string line = progress_line("loading", 3 << 20, 12 << 20, 3.0, 100);
  EXPECT_THAT(line, HasSubstr(" 25%  3.00 MiB of 12.00 MiB, 1.00 MiB/s, 9 s left"));
  EXPECT_LE(display_width(line), 100);
  EXPECT_LE(display_width(progress_line("loading", 3 << 20, 12 << 20, 3.0, 62)), 62);
  EXPECT_THAT(progress_line("loading", 20 << 20, 12 << 20, 3.0, 80), HasSubstr("100%"));
}

}  // namespace
}  // namespace dure
