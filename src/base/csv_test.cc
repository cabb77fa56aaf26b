#include "base/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "base/error.h"

namespace dure {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    return error.message();
  }
  return "accepted";
}

std::string refusal_of(std::string_view text) {
  return refusal([text] { parse_csv(text, "x.csv"); });
}

TEST(Csv, ReadsFieldsByColumnName) {
  const CsvTable table = parse_csv("name,tp,gib\r\nllama,2,33.88\r\nqwen,-1,1e3", "x.csv");
  EXPECT_THAT(table.columns(), ElementsAre("name", "tp", "gib"));
  ASSERT_EQ(table.size(), 2U);
  EXPECT_EQ(table.row(0).text("name"), "llama");
  EXPECT_EQ(table.row(0).integer("tp"), 2);
  EXPECT_EQ(table.row(0).number("gib"), 33.88);
  EXPECT_EQ(table.row(1).integer("tp"), -1);
  EXPECT_EQ(table.row(1).number("gib"), 1000.0);
  EXPECT_EQ(table.row(1).line(), 3U);
  EXPECT_EQ(table.rows().size(), 2U);
}

TEST(Csv, ReadsQuotedCommasQuotesAndLineEnds) {
  const CsvTable table =
      parse_csv("\xEF\xBB\xBFid,\"no\"\"te\"\n1,\"a, \"\"b\"\"\r\nc\"\n\"2\",\"\"\n", "x.csv");
  ASSERT_EQ(table.size(), 2U);
  EXPECT_EQ(table.row(0).text("no\"te"), "a, \"b\"\nc");
  EXPECT_EQ(table.row(1).line(), 4U);
  EXPECT_EQ(table.row(1).integer("id"), 2);
  EXPECT_EQ(table.row(1).text("no\"te"), "");
}

TEST(Csv, AnEmptyFieldOrAMissingColumnIsNothing) {
  const CsvTable table = parse_csv("a,b,c\n,7,0.5\n", "x.csv");
  const CsvRow row = table.row(0);
  EXPECT_FALSE(row.optional_text("a").has_value());
  EXPECT_FALSE(row.optional_integer("a").has_value());
  EXPECT_FALSE(row.optional_number("z").has_value());
  EXPECT_EQ(row.optional_integer("b"), 7);
  EXPECT_EQ(row.optional_number("c"), 0.5);
}

TEST(Csv, NumbersThatAreNotNameFileLineAndColumn) {
  for (const char* text :
       {"x", "", " 1", "1 ", "1,", "0x10", "+1", "1.5", "99999999999999999999"}) {
    const CsvTable table = parse_csv("a,tp\n1,\"" + std::string(text) + "\"\n", "x.csv");
    EXPECT_THAT(refusal([&] { table.row(0).integer("tp"); }),
                HasSubstr("x.csv line 2, column tp: \"" + std::string(text) + "\" is not a whole"));
  }
  for (const char* text : {"", "nan", "inf", "1e999", "1.5.", "12GB"}) {
    const CsvTable table = parse_csv("tp\n\"" + std::string(text) + "\"\n", "x.csv");
    EXPECT_THAT(refusal([&] { table.row(0).number("tp"); }), HasSubstr("is not a number"));
  }
}

TEST(Csv, AColumnThatTheFileLacksIsNamed) {
  const CsvTable table = parse_csv("a,b\n1,2\n", "x.csv");
  EXPECT_THAT(refusal([&] { table.row(0).text("tpot"); }), HasSubstr("no column named tpot"));
}

TEST(Csv, RefusesRowsOfAnotherWidthNamingTheLine) {
  EXPECT_THAT(refusal_of("a,b\n1,2\n3\n"), HasSubstr("x.csv line 3: 1 fields under a header of 2"));
  EXPECT_THAT(refusal_of("a,b\n1,2,3\n"), HasSubstr("line 2: 3 fields"));
  EXPECT_THAT(refusal_of("a,b\n\n"), HasSubstr("line 2: 1 fields"));
}

TEST(Csv, RefusesBrokenQuotesAndLineEnds) {
  EXPECT_THAT(refusal_of("a,b\n1,\"2\n3"), HasSubstr("line 2: a quoted field that never ends"));
  EXPECT_THAT(refusal_of("a\n\"1\"2\n"), HasSubstr("line 2: text after a quoted field"));
  EXPECT_THAT(refusal_of("a\n1\"2\"\n"), HasSubstr("line 2: a quote inside a field"));
  EXPECT_THAT(refusal_of("a\r1\r"), HasSubstr("line 1: a carriage return without a line feed"));
}

TEST(Csv, RefusesHeadersThatDoNotNameEachColumnOnce) {
  EXPECT_THAT(refusal_of(""), HasSubstr("x.csv: empty"));
  EXPECT_THAT(refusal_of("a,,c\n1,2,3\n"), HasSubstr("a column has no name"));
  EXPECT_THAT(refusal_of("a,b,a\n1,2,3\n"), HasSubstr("two columns are named a"));
  EXPECT_EQ(parse_csv("a,b\n", "x.csv").size(), 0U);
}

TEST(Csv, RefusesJunkBytes) {
  EXPECT_THAT(refusal_of(std::string_view("a\n1\0\n", 5)),
              HasSubstr("line 2: a control character"));
  EXPECT_THAT(refusal_of("\x7F"
                         "ELF\x02\x01"),
              HasSubstr("control character (0x7F)"));
  for (const char* junk :
       {"\xFF", "\xC0\x80", "\xE2\x82", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\x80"}) {
    EXPECT_THAT(refusal_of("a\n" + std::string(junk) + "\n"), HasSubstr("not UTF-8"));
  }
  EXPECT_EQ(parse_csv("a\n\xE2\x82\xAC\xF0\x9F\x98\x80\n", "x.csv").row(0).text("a").size(), 7U);
}

TEST(Csv, FilesAreBoundedAndNamed) {
  std::string folder = (std::filesystem::temp_directory_path() / "csv_test_XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::filesystem::path path = std::filesystem::path(folder) / "t.csv";
  std::ofstream(path) << "a\n1\n";
  EXPECT_EQ(read_csv_file(path).size(), 1U);
  EXPECT_THAT(refusal([&] { read_csv_file(path, 3); }),
              HasSubstr("t.csv: larger than the 3 bytes"));
  EXPECT_THAT(refusal([&] { read_csv_file(path.string() + "x"); }), HasSubstr("no such file"));
  EXPECT_THAT(refusal([&] { read_csv_file(folder); }), HasSubstr("not a regular file"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace dure
