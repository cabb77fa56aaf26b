// Checkpoints that store matrices of one product in several types: ranks hold them in one that is
// exact, so that they answer as recorded, with the same bits in every layout, in the bytes planned.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "base/json.h"
#include "cluster/this_machine.h"
#include "cost/memory.h"
#include "model/checkpoint.h"
#include "model/load_spec.h"
#include "verify/verify.h"

namespace dure {
namespace {

namespace fs = std::filesystem;

// Stores the tensors whose names contain `part`, BF16 so far, as F32: the same values. Returns how
// many there were.
int widen(const fs::path& file, const std::string& part) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  uint64_t length = 0;
  bytes.copy(reinterpret_cast<char*>(&length), sizeof(length));
  Json header = parse_json(bytes.substr(8, length), file.string());
  std::string data;
  int widened = 0;
  for (auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    const auto begin = entry.at("data_offsets").at(0).get<uint64_t>();
    const auto end = entry.at("data_offsets").at(1).get<uint64_t>();
    const std::string values = bytes.substr(8 + length + begin, end - begin);
    const size_t at = data.size();
    if (name.find(part) == std::string::npos || entry.at("dtype") != "BF16") {
      data += values;
    } else {
      for (size_t i = 0; i < values.size(); i += 2) data.append(2, '\0').append(values, i, 2);
      entry["dtype"] = "F32";
      ++widened;
    }
    entry["data_offsets"] = {at, data.size()};
  }
  const std::string text = header.dump();
  const uint64_t size = text.size();
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&size), sizeof(size));
  out << text << data;
  return widened;
}

struct Case {
  std::string model;
  std::string part;  // of the names of the tensors in F32; the others are in BF16
};

void PrintTo(const Case& each, std::ostream* out) {
  *out << each.model << ' ' << each.part;
}

class MixedTypes : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    fs::copy(fs::path(DURE_SOURCE_DIR) / "testdata/models" / GetParam().model, folder_);
    ASSERT_GT(widen(folder_ / "model.safetensors", GetParam().part), 0);
  }
  void TearDown() override { fs::remove_all(folder_); }

  VerifyResult run(const Layout& layout, Compute compute) const {
    VerifyOptions options;
    StartGroup& start = options.group.start;
    start.model = folder_.string();
    start.layout = layout;
    start.compute = compute;
    start.kv_dtype = compute == Compute::fp32 ? DType::f32 : DType::bf16;
    start.threads = default_threads(layout.world());
    return verify(options);
  }

  const fs::path folder_ = fs::temp_directory_path() / fmt::format("dure-mixed-types-{}", getpid());
};

TEST_P(MixedTypes, OfOneProductMeetInOneThatHoldsThemAllInEveryLayout) {
  const ModelSpec spec = load_spec(folder_);
  const std::vector<Weight> weights = bind_inventory(spec, *CheckpointReader::open(folder_));
  for (const Compute compute : {Compute::bf16, Compute::fp32}) {
    const std::string alone = run({}, compute).logits_hash;
    for (const Layout& layout :
         {Layout{}, Layout{.tp = 2, .ep = 2}, Layout{.dp = 2, .ep = 2}, Layout{.tp = 2, .pp = 2}}) {
      SCOPED_TRACE(fmt::format("{}, {}", to_string(layout), to_string(compute)));
      const VerifyResult result = run(layout, compute);
      EXPECT_TRUE(result.passed);
      EXPECT_EQ(result.logits_hash, alone);
      for (const RankReport& rank : result.group.ranks) {
        const RankMemory planned =
            rank_memory(weights, spec, layout, rank.rank, {.compute = compute});
        EXPECT_EQ(rank.weight_bytes, planned.weights + planned.padding) << "rank " << rank.rank;
      }
    }
  }
}

// One expert of ten, whole; its gate alone; without gates; one of its two matrices of many; keys
// beside queries and values.
INSTANTIATE_TEST_SUITE_P(Of, MixedTypes,
                         testing::Values(Case{"kimi-linear", "experts.3."},
                                         Case{"mixtral", "experts.3.w1"},
                                         Case{"nemotron-h", "experts.3.down"},
                                         Case{"qwen2-moe", "experts.1.up"},
                                         Case{"olmoe", "k_proj"}));

}  // namespace
}  // namespace dure
