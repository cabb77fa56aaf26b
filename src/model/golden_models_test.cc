// Tiny checkpoints of every family, as their releases spell them: config.json and the inventory
// made from it must agree with the files, tensor by tensor.
#include <gmock/gmock.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json.h"
#include "model/checkpoint.h"
#include "model/inventory.h"
#include "model/load_spec.h"
#include "model/testing.h"

namespace dure {
namespace {

using testing::error_of;
using testing::source_path;

namespace fs = std::filesystem;

// The shipped models, and where a larger set of recorded ones lies beside the sources, all of it.
std::vector<fs::path> golden_folders() {
  std::vector<fs::path> folders;
  for (const char* root :
       {"testdata/models", "../shared/data/golden/models", "../shared/data/golden/models/later"}) {
    const size_t before = folders.size();
    std::error_code absent;
    for (const auto& entry : fs::directory_iterator(source_path(root), absent)) {
      if (fs::exists(entry.path() / "config.json")) folders.push_back(entry.path());
    }
    std::cout << root << ": " << folders.size() - before << " models\n";
  }
  return folders;
}

TEST(GoldenModels, AreReadAndHoldExactlyWhatTheirConfigsSay) {
  size_t bound = 0;
  for (const fs::path& folder : golden_folders()) {
    SCOPED_TRACE(folder.string());
    try {
      ModelSpec spec = load_spec(folder);
      const Json facts = read_json_file(folder / "case.json");
      EXPECT_EQ(total_parameters(spec), facts["params_total"].get<int64_t>());
      if (!spec.quantization.empty()) continue;
      spec.planned_only.clear();  // its tensors are known, if not its layers
      const auto checkpoint = CheckpointReader::open(folder);
      for (const Weight& weight : bind_inventory(spec, *checkpoint)) {
        const int64_t last =
            weight.view.row(weight.shape[0] - 1) +
            (weight.is_matrix() ? weight.shape[1] - 1 : 0) * weight.view.column_stride;
        EXPECT_LT(last * bytes_of(weight.dtype), checkpoint->find(weight.name)->bytes)
            << weight.name;
      }
      ++bound;
    } catch (const Error& error) {
      ADD_FAILURE() << error.message() << "\n" << error.hint();
    }
  }
  EXPECT_GE(bound, 13);
}

}  // namespace
}  // namespace dure
