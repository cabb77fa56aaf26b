// dure plan --html FILE.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cli/testing.h"
#include "model/testing.h"

namespace dure {
namespace {

using testing::dure;
using testing::expect_refused;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::TempFolder;

std::vector<std::string> asking(const std::string& gpus, const std::string& file) {
  return {"plan", "gpt-oss-120b",  "--gpu", "h100",   "--gpus",
          gpus,   "--concurrency", "8",     "--html", file};
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(PlanPageCommand, WritesAPageBesideTheReport) {
  const TempFolder folder;
  const std::filesystem::path file = folder.path() / "plan.html";
  std::ofstream(file) << std::string(1 << 20, 'x');  // which is replaced
  const Outcome outcome = dure(asking("1", file.string()));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("tokens/s"));
  const std::string page = text_of(file);
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
  EXPECT_THAT(page, HasSubstr("<title>gpt-oss-120b on 1 × h100</title>"));
}

TEST(PlanPageCommand, WritesOneWhereNothingFits) {
  const TempFolder folder;
  const std::filesystem::path file = folder.path() / "plan.html";
  const Outcome outcome = dure({"plan", "llama-3.1-405b", "--gpu", "h100", "--gpus", "1",
                                "--concurrency", "1", "--html", file.string()});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(text_of(file), HasSubstr("\"fits\":false"));
}

TEST(PlanPageCommand, RefusesAFileThatCannotBeWritten) {
  const TempFolder folder;
  for (const std::string& file : {(folder.path() / "no such folder" / "plan.html").string(),
                                  folder.path().string(), std::string("/dev/full")}) {
    const Outcome outcome = dure(asking("1", file));
    expect_refused(outcome, file);
    EXPECT_THAT(outcome.err, HasSubstr("--html " + file + ": cannot be written: "));
  }
}

}  // namespace
}  // namespace dure
