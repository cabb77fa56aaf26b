// The config.json of released models: every one is read, and counts as many parameters as
// published.
#include <gmock/gmock.h>

#include <cmath>
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

fs::path released(const std::string& name) {
  return source_path("testdata/configs/released") / (name + ".json");
}

TEST(ReleasedModels, AreAllRead) {
  size_t read = 0;
  for (const char* root : {"testdata/configs/released", "../shared/data/model-configs"}) {
    std::error_code absent;
    for (const auto& entry : fs::directory_iterator(source_path(root), absent)) {
      if (entry.path().extension() != ".json") continue;
      try {
        const ModelSpec spec = load_spec(entry.path());
        EXPECT_GT(total_parameters(spec), active_parameters(spec) / 2) << entry.path();
        ++read;
      } catch (const Error& error) {
        ADD_FAILURE() << error.message() << "\n" << error.hint();
      }
    }
    std::cout << root << ": " << read << " models so far\n";
  }
  EXPECT_GE(read, 73);
}

// ---- exact counts

struct Exact {
  const char* name;
  int64_t total;
  int64_t active;
};

// Totals as the model cards' weight files hold them; active ones follow from experts and top-k.
constexpr Exact exact[] = {
    {"meta-llama--Meta-Llama-3.1-8B", 8'030'261'248, 8'030'261'248},
    {"meta-llama--Meta-Llama-3.1-70B", 70'553'706'496, 70'553'706'496},
    {"meta-llama--Meta-Llama-3.1-405B", 405'853'388'800, 405'853'388'800},
    {"nvidia--Llama-3.1-70B-Instruct-FP8", 70'553'706'496, 70'553'706'496},
    {"mistralai--Mixtral-8x7B-v0.1", 46'702'792'704, 12'879'925'248},
    {"mistralai--Mixtral-8x22B-v0.1", 140'620'634'112, 39'152'031'744},
    {"Qwen--Qwen3-0.6B", 596'049'920, 596'049'920},
    {"Qwen--Qwen3-1.7B", 1'720'574'976, 1'720'574'976},
    {"Qwen--Qwen3-8B", 8'190'735'360, 8'190'735'360},
    {"Qwen--Qwen3-32B", 32'762'123'264, 32'762'123'264},
    {"Qwen--Qwen3-30B-A3B", 30'532'122'624, 3'353'032'704},
    {"Qwen--Qwen3-235B-A22B", 235'093'634'560, 22'190'763'520},
    {"Qwen--Qwen3-Coder-480B-A35B-Instruct", 480'154'875'392, 35'474'765'312},
};

TEST(ReleasedModels, CountToTheLastParameter) {
  for (const Exact& model : exact) {
    const ModelSpec spec = load_spec(released(model.name));
    EXPECT_EQ(total_parameters(spec), model.total) << model.name;
    EXPECT_EQ(active_parameters(spec), model.active) << model.name;
  }
}

// ---- published counts

// Publishers differ in what they call active: everything that is stored but unchosen experts (as
// active_parameters counts), the same without the table that tokens are looked up in, or without
// that of the output too.
enum class Active { all, without_embedding, without_tables };

struct Published {
  const char* name;
  double total;   // billions
  double active;  // billions
  Active counts;
  double elsewhere;  // billions of `total` in parts that are not read: here, towers for images
  const char* source;
};

constexpr Published published[] = {
    {"deepseek-ai--DeepSeek-V3", 671, 37, Active::without_embedding, 0, "arXiv:2412.19437"},
    {"deepseek-ai--DeepSeek-R1", 671, 37, Active::without_embedding, 0, "arXiv:2501.12948"},
    {"deepseek-ai--DeepSeek-V3.2", 671, 37, Active::without_embedding, 0, "arXiv:2512.02556"},
    {"deepseek-ai--DeepSeek-V4-Flash", 284, 13, Active::without_tables, 0, "model card"},
    {"deepseek-ai--DeepSeek-V4-Pro", 1600, 49, Active::without_embedding, 0, "model card"},
    {"moonshotai--Kimi-K2-Instruct", 1000, 32, Active::without_embedding, 0, "model card"},
    {"moonshotai--Kimi-K2.5", 1000, 32, Active::without_embedding, 0, "model card"},
    {"openai--gpt-oss-120b", 116.83, 5.13, Active::without_embedding, 0, "arXiv:2508.10925"},
    {"openai--gpt-oss-20b", 20.91, 3.61, Active::without_embedding, 0, "arXiv:2508.10925"},
    {"meta-llama--Llama-4-Maverick-17B-128E-Instruct", 400, 17, Active::all, 0.9, "model card"},
    {"meta-llama--Llama-4-Scout-17B-16E-Instruct", 109, 17, Active::all, 0.9, "model card"},
    {"mistralai--Mixtral-8x7B-v0.1", 46.7, 12.9, Active::all, 0, "model card"},
    {"mistralai--Mixtral-8x22B-v0.1", 141, 39, Active::all, 0, "model card"},
    {"meta-llama--Meta-Llama-3.1-405B", 405, 405, Active::all, 0, "arXiv:2407.21783"},
    {"Qwen--Qwen3-235B-A22B", 235, 22, Active::all, 0, "arXiv:2505.09388"},
    {"Qwen--Qwen3-30B-A3B", 30.5, 3.3, Active::all, 0, "model card"},
    {"Qwen--Qwen3.5-122B-A10B", 122, 10, Active::all, 0, "model card"},
    {"Qwen--Qwen3.5-35B-A3B", 35, 3, Active::without_embedding, 0, "model card"},
    {"Qwen--Qwen3.5-27B", 27, 27, Active::all, 0, "model card"},
    {"nvidia--Qwen3.5-397B-A17B-NVFP4", 397, 17, Active::all, 0, "model card"},
    {"zai-org--GLM-5", 744, 40, Active::without_tables, 0, "arXiv:2602.15763"},
    {"MiniMaxAI--MiniMax-M2.5", 229, 10, Active::without_tables, 0, "model card"},
    {"MiniMaxAI--MiniMax-M3", 428, 23, Active::without_tables, 0, "model card"},
    {"google--gemma-4-26B-A4B", 25.2, 3.8, Active::all, 0, "model card"},
    {"nvidia--Gemma-4-31B-IT-NVFP4", 30.7, 30.7, Active::all, 0, "model card"},
    {"nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 31.6, 3.6, Active::all, 0, "model card"},
    {"nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8", 120.6, 12.7, Active::all, 0, "model card"},
    {"nvidia--NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", 550, 55, Active::without_embedding, 0,
     "model card"},
    {"nvidia--Llama-3_3-Nemotron-Super-49B-v1", 49.9, 49.9, Active::all, 0, "arXiv:2505.00949"},
};

double active_as(const ModelSpec& spec, Active counts) {
  const auto table = static_cast<double>(spec.vocab * spec.hidden);
  auto active = static_cast<double>(active_parameters(spec));
  if (counts != Active::all) active -= table;
  if (counts == Active::without_tables && !spec.tied_embeddings) active -= table;
  return active / 1e9;
}

// Within one in a hundred, or the same once rounded or cut off to the digits that were printed.
bool agrees(double counted, double stated) {
  double unit = 1.0;
  if (stated != std::floor(stated)) unit = 0.1;
  if (stated >= 1000) unit = 100.0;
  const double digits = std::round(stated / unit);
  return std::abs(counted - stated) <= 0.01 * stated || std::round(counted / unit) == digits ||
         std::floor(counted / unit) == digits;
}

TEST(ReleasedModels, CountWhatTheirPublishersSay) {
  for (const Published& model : published) {
    const ModelSpec spec = load_spec(released(model.name));
    const double total = static_cast<double>(total_parameters(spec)) / 1e9 + model.elsewhere;
    const double active = active_as(spec, model.counts);
    EXPECT_TRUE(agrees(total, model.total)) << model.name << ": " << total << ", " << model.source;
    EXPECT_TRUE(agrees(active, model.active)) << model.name << ": " << active;
  }
}

}  // namespace
}  // namespace dure
