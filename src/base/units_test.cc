#include "base/units.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace dure {
namespace {

TEST(Units, DecimalAndBinaryBytesDiffer) {
  EXPECT_EQ(parse_bytes("80GB", "--gpu"), 80'000'000'000);
  EXPECT_EQ(parse_bytes("80GiB", "--gpu"), int64_t{80} << 30);
  EXPECT_EQ(parse_bytes("1.5 GiB", "--gpu"), 1610612736);
  EXPECT_EQ(parse_bytes("512", "--gpu"), 512);
}

TEST(Units, CountsTakeThousandsToTrillions) {
  EXPECT_EQ(parse_count("671B", "MODEL"), 671'000'000'000);
  EXPECT_EQ(parse_count("1.5T", "MODEL"), 1'500'000'000'000);
  EXPECT_EQ(parse_count("128k", "--context"), 128'000);
  EXPECT_EQ(parse_count("4096", "--context"), 4096);
}

TEST(Units, RefusesWhatIsNotASize) {
  for (const char* text :
       {"", "GB", "-1GB", "80XB", "nan", "inf", "1e30", "0", "80GB ", "9999999PB"}) {
    EXPECT_THROW(parse_bytes(text, "--gpu"), Error) << text;
  }
  EXPECT_THROW(parse_count("12GiB", "MODEL"), Error);
}

TEST(Units, ReadsTimesOnlyWithTheirUnit) {
  EXPECT_DOUBLE_EQ(parse_seconds("30ms", "--tpot"), 0.03);
  EXPECT_DOUBLE_EQ(parse_seconds("1.5s", "--ttft"), 1.5);
  EXPECT_DOUBLE_EQ(parse_seconds("250us", "--tpot"), 250e-6);
  EXPECT_DOUBLE_EQ(parse_seconds("2min", "--ttft"), 120.0);
  for (const char* text :
       {"30", "", "ms", "-3ms", "0s", "nan s", "inf", "3h", "1e3s", "3 ms ", "99999999999min"}) {
    EXPECT_THROW(parse_seconds(text, "--tpot"), Error) << text;
  }
  EXPECT_EQ(format_seconds(0.048), "48.0 ms");
  EXPECT_EQ(format_seconds(1.25), "1.25 s");
  EXPECT_EQ(format_seconds(0.6946), "695 ms");
  EXPECT_EQ(format_seconds(0.99996), "1.00 s");
  EXPECT_EQ(format_seconds(12e-6), "12.0 µs");
}

TEST(Units, PrintsBytesInBinaryUnitsAndCountsInThousands) {
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(int64_t{3} << 29), "1.50 GiB");
  EXPECT_EQ(format_decimal_bytes(2'000'000'000'000), "2 TB");
  EXPECT_EQ(format_decimal_bytes(1'342'000'000'000), "1.34 TB");
  EXPECT_EQ(format_decimal_bytes(350'000'000'000), "350 GB");
  EXPECT_EQ(format_decimal_bytes(512), "512 B");
  EXPECT_EQ(format_count(46702792704), "46,702,792,704");
  EXPECT_EQ(format_count(-1234), "-1,234");
  EXPECT_EQ(format_count(999), "999");
}

}  // namespace
}  // namespace dure
