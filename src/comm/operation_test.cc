// Ranks that have lost step with each other are told apart by every field, and named.
#include "comm/operation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace dure {
namespace {

OpHeader sample() {
  OpHeader header;
  header.step = 7;
  header.number = 12;
  header.bytes = 4096;
  header.name("attention output");
  return header;
}

std::string complaint(const OpHeader& mine, const OpHeader& theirs) {
  try {
    check_same_operation(1, mine, 3, theirs);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(Operation, AnyDifferenceIsAnErrorNamingBothSides) {
  OpHeader other = sample();
  other.kind = OpKind::all_to_all;
  other.name("expert dispatch");
  EXPECT_EQ(complaint(sample(), other),
            "ranks 1 and 3 are not at the same operation: rank 1 is at step 7, operation 12 "
            "(all-reduce of attention output, 4096 bytes), rank 3 at step 7, operation 12 "
            "(all-to-all of expert dispatch, 4096 bytes)");
  other = sample();
  other.step = 8;
  EXPECT_THAT(complaint(sample(), other), testing::HasSubstr("rank 3 at step 8, operation 12"));
  other = sample();
  other.number = 13;
  EXPECT_THAT(complaint(sample(), other), testing::HasSubstr("rank 3 at step 7, operation 13"));
  other = sample();
  other.bytes = 1;
  EXPECT_THAT(complaint(sample(), other), testing::HasSubstr("1 bytes)"));
  other = sample();
  other.round = 1;
  EXPECT_NE(complaint(sample(), other), "");
  other = sample();
  other.magic = 0;
  EXPECT_THAT(complaint(sample(), other), testing::HasSubstr("rank 3 at no place"));
}

TEST(Operation, NamesAreForPeopleAndMayDiffer) {
  OpHeader other = sample();
  other.name("another name that is far longer than the room for names");
  EXPECT_EQ(complaint(sample(), other), "");
  EXPECT_THAT(describe(other), testing::HasSubstr("another name that is far longer "));
}

}  // namespace
}  // namespace dure
