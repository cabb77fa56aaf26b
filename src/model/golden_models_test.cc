// Tiny checkpoints of every family, as their releases spell them: config.json and the inventory
// made from it must agree with the files, tensor by tensor.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json.h"
#include "model/checkpoint.h"
#include "model/harmless_tensors.h"
#include "model/inventory.h"
#include "model/load_spec.h"
#include "model/safetensors.h"
#include "model/testing.h"

namespace dure {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
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
      const bool gguf = entry.path().filename().string().starts_with("gguf-");
      if (gguf || fs::exists(entry.path() / "config.json")) folders.push_back(entry.path());
    }
    std::cout << root << ": " << folders.size() - before << " models\n";
  }
  return folders;
}

using Shape = std::vector<int64_t>;

Shape without_ones(Shape shape) {
  std::erase(shape, 1);
  return shape;
}

// Of every tensor in the folder's weight files, whatever its type.
std::map<std::string, Shape> stored_shapes(const fs::path& folder) {
  std::map<std::string, Shape> shapes;
  for (const auto& file : fs::directory_iterator(folder)) {
    const fs::path& path = file.path();
    if (path.extension() != ".safetensors" || path.filename() == "expected.safetensors") continue;
    std::ifstream in(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), {});
    for (const SafetensorsEntry& entry :
         parse_safetensors_header(bytes, static_cast<int64_t>(bytes.size()), path.string())) {
      shapes[entry.name] = entry.shape;
    }
  }
  return shapes;
}

void expect_inventory(const ModelSpec& spec, const fs::path& folder) {
  std::map<std::string, Shape> shapes = stored_shapes(folder);
  std::map<std::string, Shape> listed;
  for (const Weight& weight : inventory(spec)) listed[weight.name] = weight.tensor_shape;
  for (const auto& [name, shape] : listed) {
    ASSERT_TRUE(shapes.contains(name)) << name;
    EXPECT_EQ(without_ones(shapes[name]), without_ones(shape)) << name;
  }
  for (const auto& [name, shape] : shapes) {
    EXPECT_TRUE(listed.contains(name) || is_of_other_part(spec, name)) << name;
  }
}

// Every element of a tensor belongs to exactly one weight.
void expect_views_cover_tensors(const std::vector<Weight>& weights) {
  std::map<std::string, std::vector<bool>> taken;
  for (const Weight& weight : weights) {
    int64_t size = 1;
    for (const int64_t each : weight.tensor_shape) size *= each;
    std::vector<bool>& tensor = taken[weight.name];
    tensor.resize(static_cast<size_t>(size));
    const int64_t columns = weight.is_matrix() ? weight.shape[1] : 1;
    for (int64_t o = 0; o < weight.shape[0]; ++o) {
      for (int64_t i = 0; i < columns; ++i) {
        const auto at = static_cast<size_t>(weight.view.row(o) + i * weight.view.column_stride);
        ASSERT_LT(at, tensor.size()) << weight.name;
        ASSERT_FALSE(tensor[at]) << weight.name;
        tensor[at] = true;
      }
    }
  }
  for (const auto& [name, tensor] : taken) {
    EXPECT_EQ(std::count(tensor.begin(), tensor.end(), false), 0) << name;
  }
}

void check(const fs::path& folder) {
  const ModelSpec spec = load_spec(folder);
  const Json facts = read_json_file(folder / "case.json");
  const auto total = facts["params_total"].get<int64_t>();
  if (!spec.names.gguf) EXPECT_EQ(total_parameters(spec), total);  // else gguf_spec_test does
  expect_views_cover_tensors(inventory(spec));
  const bool plain = !spec.names.gguf && spec.quantization.empty();
  if (plain) expect_inventory(spec, folder);
  if (!spec.planned_only.empty()) return;
  const auto checkpoint = CheckpointReader::open(folder);
  EXPECT_EQ(bind_inventory(spec, *checkpoint).size(), inventory(spec).size());
}

TEST(GoldenModels, HoldExactlyWhatTheirConfigsSay) {
  const auto folders = golden_folders();
  EXPECT_GE(folders.size(), 13);
  for (const fs::path& folder : folders) {
    SCOPED_TRACE(folder.string());
    try {
      check(folder);
    } catch (const Error& error) {
      ADD_FAILURE() << error.message() << "\n" << error.hint();
    }
  }
}

TEST(GoldenModels, CountTheSameFromTheirConfigsAlone) {
  const Json totals = read_json_file(source_path("testdata/configs/families.totals.json"));
  EXPECT_GE(totals.size(), 65);
  size_t counted = 0;
  for (const auto& file : fs::directory_iterator(source_path("testdata/configs/families"))) {
    const std::string name = file.path().stem();
    ASSERT_TRUE(totals.contains(name)) << name << " has no entry in families.totals.json";
    EXPECT_EQ(total_parameters(load_spec(file)), totals[name].get<int64_t>()) << name;
    ++counted;
  }
  EXPECT_EQ(counted, totals.size());
}

TEST(GoldenModels, ThatArePlannedOnlyAreNotBound) {
  const ModelSpec spec = load_spec(source_path("testdata/configs/families/deepseek-v4.json"));
  const auto checkpoint = CheckpointReader::open(source_path("testdata/models/llama"));
  const Error error = error_of([&] { bind_inventory(spec, *checkpoint); });
  EXPECT_THAT(error.message(), HasSubstr("planned only: "));
}

}  // namespace
}  // namespace dure
