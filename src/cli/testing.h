// Helpers of the tests in this folder: a command line run in this process, and what every refusal
// looks like.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.h"

namespace dure::testing {

struct Outcome {
  int status = 0;
  std::string out;
  std::string err;
};

inline Outcome dure(std::vector<std::string> arguments) {
  std::vector<const char*> argv = {"dure"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.status = run_command_line(static_cast<int>(argv.size()), argv.data());
  outcome.out = ::testing::internal::GetCapturedStdout();
  outcome.err = ::testing::internal::GetCapturedStderr();
  return outcome;
}

inline std::string data(const std::string& path) {
  return (std::filesystem::path(DURE_SOURCE_DIR) / "testdata" / path).string();
}

// One `error:` line, one `hint:` line, exit 2, nothing on standard output.
inline void expect_refused(const Outcome& outcome, const std::string& what) {
  EXPECT_EQ(outcome.status, 2) << what;
  EXPECT_EQ(outcome.out, "") << what;
  EXPECT_THAT(outcome.err, ::testing::StartsWith("error: ")) << what;
  EXPECT_THAT(outcome.err, ::testing::HasSubstr("\nhint: ")) << what;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 2) << outcome.err;
}

}  // namespace dure::testing
