// The config.json of released models: every one is read, and counts as many parameters as
// published.
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <iostream>
#include <set>
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
    {"meta-llama--Meta-Llama-3.1-8B", 8.03, 8.03, Active::all, 0, "model card"},
    {"meta-llama--Meta-Llama-3.1-70B", 70.6, 70.6, Active::all, 0, "model card"},
    {"meta-llama--Meta-Llama-3.1-405B", 405, 405, Active::all, 0, "arXiv:2407.21783"},
    {"Qwen--Qwen3-235B-A22B", 235, 22, Active::all, 0, "arXiv:2505.09388"},
    {"Qwen--Qwen3-30B-A3B", 30.5, 3.3, Active::all, 0, "model card"},
    {"Qwen--Qwen3-Coder-480B-A35B-Instruct", 480, 35, Active::all, 0, "model card"},
    {"Qwen--Qwen3-0.6B", 0.6, 0.44, Active::without_embedding, 0, "model card"},
    {"Qwen--Qwen3-1.7B", 1.7, 1.4, Active::without_embedding, 0, "model card"},
    {"Qwen--Qwen3-VL-4B-Instruct", 4.0, 3.6, Active::without_embedding, 0, "Qwen3-4B's card"},
    {"Qwen--Qwen3-8B", 8.2, 6.95, Active::without_tables, 0, "model card"},
    {"Qwen--Qwen3-32B", 32.8, 31.2, Active::without_tables, 0, "model card"},
    {"nvidia--Qwen3.6-35B-A3B-NVFP4", 35, 3, Active::without_embedding, 0, "model card"},
    {"Qwen--Qwen3.5-122B-A10B", 122, 10, Active::all, 0, "model card"},
    {"Qwen--Qwen3.5-35B-A3B", 35, 3, Active::without_embedding, 0, "model card"},
    {"Qwen--Qwen3.5-27B", 27, 27, Active::all, 0, "model card"},
    {"nvidia--Qwen3.5-397B-A17B-NVFP4", 397, 17, Active::all, 0, "model card"},
    {"zai-org--GLM-5", 744, 40, Active::without_tables, 0, "arXiv:2602.15763"},
    {"zai-org--GLM-5.2", 744, 40, Active::without_embedding, 0, "model card"},
    {"MiniMaxAI--MiniMax-M2.5", 230, 10, Active::without_tables, 0, "model card"},
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

// Within one in a hundred, or the same once rounded or cut off to the digits that were printed:
// "1T" stands for 950 to 1,100 billion, "37B" for 36.5 to 38.
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

// ---- releases that share their parameters

struct Same {
  const char* name;
  const char* as;
};

// Quantized copies, later trainings of one shape, and the text part of models that also see.
constexpr Same same[] = {
    {"deepseek-ai--DeepSeek-R1", "deepseek-ai--DeepSeek-V3"},
    {"nvidia--DeepSeek-V3.1-NVFP4", "deepseek-ai--DeepSeek-V3"},
    {"nvidia--DeepSeek-V3.2-NVFP4", "deepseek-ai--DeepSeek-V3.2"},
    {"nvidia--DeepSeek-V4-Flash-NVFP4", "deepseek-ai--DeepSeek-V4-Flash"},
    {"nvidia--DeepSeek-V4-Pro-NVFP4", "deepseek-ai--DeepSeek-V4-Pro"},
    {"sgl-project--DeepSeek-V4-Pro-FP8", "deepseek-ai--DeepSeek-V4-Pro"},
    {"moonshotai--Kimi-K2.5", "moonshotai--Kimi-K2-Instruct"},
    {"nvidia--Kimi-K2.5-NVFP4", "moonshotai--Kimi-K2.5"},
    {"nvidia--Kimi-K2.7-Code-NVFP4", "moonshotai--Kimi-K2.5"},
    {"zai-org--GLM-5-FP8", "zai-org--GLM-5"},
    {"nvidia--GLM-5-NVFP4", "zai-org--GLM-5"},
    {"nvidia--GLM-5.1-NVFP4", "zai-org--GLM-5"},
    {"zai-org--GLM-5.2-FP8", "zai-org--GLM-5.2"},
    {"nvidia--GLM-5.2-NVFP4", "zai-org--GLM-5.2"},
    {"nvidia--MiniMax-M2.5-NVFP4", "MiniMaxAI--MiniMax-M2.5"},
    {"nvidia--Llama-3.1-70B-Instruct-FP8", "meta-llama--Meta-Llama-3.1-70B"},
    {"nvidia--Gemma-4-26B-A4B-NVFP4", "google--gemma-4-26B-A4B"},
    {"nvidia--Qwen3-235B-A22B-NVFP4", "Qwen--Qwen3-235B-A22B"},
    {"Qwen--Qwen3-235B-A22B-FP8", "Qwen--Qwen3-235B-A22B"},
    {"Qwen--Qwen3-VL-235B-A22B-Instruct", "Qwen--Qwen3-235B-A22B"},
    {"Qwen--Qwen3-30B-A3B-FP8", "Qwen--Qwen3-30B-A3B"},
    {"Qwen--Qwen3-VL-30B-A3B-Instruct", "Qwen--Qwen3-30B-A3B"},
    {"Qwen--Qwen3-32B-FP8", "Qwen--Qwen3-32B"},
    {"Qwen--Qwen3-32B-FP8-Static-PerTensor", "Qwen--Qwen3-32B"},
    {"Qwen--Qwen3-VL-32B-Instruct", "Qwen--Qwen3-32B"},
    {"Qwen--Qwen3-VL-32B-Thinking", "Qwen--Qwen3-32B"},
    {"Qwen--Qwen3-VL-8B-Instruct", "Qwen--Qwen3-8B"},
    {"Qwen--Qwen3-VL-2B-Instruct", "Qwen--Qwen3-1.7B"},
    {"nvidia--Qwen3.5-122B-A10B-NVFP4", "Qwen--Qwen3.5-122B-A10B"},
    {"nvidia--Qwen3.6-35B-A3B-NVFP4", "Qwen--Qwen3.5-35B-A3B"},
    {"nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4", "nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"},
    {"nvidia--NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4",
     "nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"},
    {"nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4",
     "nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8"},
    {"nvidia--NVIDIA-Nemotron-3-Ultra-550B-A55B-FP8",
     "nvidia--NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16"},
    {"nvidia--NVIDIA-Nemotron-3-Ultra-550B-A55B-NVFP4",
     "nvidia--NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16"},
};

TEST(ReleasedModels, CountTheSameHoweverTheyAreStored) {
  for (const Same& model : same) {
    const ModelSpec one = load_spec(released(model.name));
    const ModelSpec other = load_spec(released(model.as));
    EXPECT_EQ(total_parameters(one), total_parameters(other)) << model.name;
    EXPECT_EQ(active_parameters(one), active_parameters(other)) << model.name;
  }
}

// Two whose publishers state no figures that could be compared.
TEST(ReleasedModels, AreAllHeldToAFigure) {
  std::set<std::string> held = {"XiaomiMiMo--MiMo-7B-Base", "moonshotai--Kimi-K3"};
  for (const Exact& model : exact) held.insert(model.name);
  for (const Published& model : published) held.insert(model.name);
  for (const Same& model : same) held.insert(model.name);
  for (const auto& entry : fs::directory_iterator(source_path("testdata/configs/released"))) {
    EXPECT_EQ(held.count(entry.path().stem().string()), 1) << entry.path();
  }
}

}  // namespace
}  // namespace dure
