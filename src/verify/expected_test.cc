#include "verify/expected.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/error.h"
#include "model/safetensors.h"
#include "model/testing.h"

namespace dure {
namespace {

namespace fs = std::filesystem;

// What is said of llama's record once the first value of `tensor` is `value`.
std::string said_of(const std::string& tensor, float value) {
  std::ostringstream whole;
  whole << std::ifstream(fs::path(DURE_SOURCE_DIR) / "testdata/models/llama/expected.safetensors",
                         std::ios::binary)
               .rdbuf();
  std::string bytes = whole.str();
  const auto entries =
      parse_safetensors_header(bytes, static_cast<int64_t>(bytes.size()), "llama's record");
  const auto entry =
      std::find_if(entries.begin(), entries.end(),
                   [&](const SafetensorsEntry& each) { return each.name == tensor; });
  EXPECT_NE(entry, entries.end()) << tensor;
  bytes.replace(static_cast<size_t>(entry->offset), sizeof value,
                reinterpret_cast<const char*>(&value), sizeof value);
  const testing::TempFolder folder;
  const fs::path file = folder.path() / "expected.safetensors";
  std::ofstream(file, std::ios::binary) << bytes;
  try {
    read_expected(file);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(Expected, RefusesARecordThatHoldsNoNumbers) {
  EXPECT_EQ(said_of("p1.logits", 1.0f), "");
  for (const float value : {float{INFINITY}, float{-INFINITY}, float{NAN}}) {
    EXPECT_NE(said_of("p1.logits", value).find("p1.logits holds"), std::string::npos) << value;
  }
  EXPECT_EQ(said_of("p1.greedy_margin", INFINITY), "");  // nothing else to choose
  EXPECT_NE(said_of("p1.greedy_margin", NAN).find("p1.greedy_margin holds"), std::string::npos);
  EXPECT_NE(said_of("p1.greedy_margin", -1.0f).find("p1.greedy_margin holds"), std::string::npos);
}

}  // namespace
}  // namespace dure
