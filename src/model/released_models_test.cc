// The config.json of released models: every one is read, and counts as many parameters as
// published.
#include <gmock/gmock.h>

#include <filesystem>
#include <iostream>
#include <string>

#include "base/error.h"
#include "model/inventory.h"
#include "model/load_spec.h"
#include "model/testing.h"

namespace dure {
namespace {

using testing::source_path;

namespace fs = std::filesystem;

TEST(ReleasedModels, AreAllRead) {
  size_t read = 0;
  for (const auto& entry : fs::directory_iterator(source_path("testdata/configs/released"))) {
    SCOPED_TRACE(entry.path().filename().string());
    try {
      const ModelSpec spec = load_spec(entry.path());
      printf("%-55s %10.3f %8.3f %s%s\n", entry.path().stem().c_str(), total_parameters(spec) / 1e9,
             active_parameters(spec) / 1e9, spec.quantization.c_str(), spec.planned_only.c_str());
      ++read;
    } catch (const Error& error) {
      ADD_FAILURE() << error.message() << "\n" << error.hint();
    }
  }
  EXPECT_GE(read, 73);
}

}  // namespace
}  // namespace dure
