// Real models with windows: how their layers share pages, and that no rank's page is too small.
#include "cost/page_layout.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "cost/memory.h"
#include "model/load_spec.h"

namespace dure {
namespace {

ModelSpec spec_of(const std::string& path) {
  return load_spec(std::filesystem::path(DURE_SOURCE_DIR) / "testdata/configs" / path);
}

TEST(PageLayout, ModelsWithoutWindowsHaveOneTable) {
  for (const char* name : {"released/deepseek-ai--DeepSeek-V3.json",
                           "released/Qwen--Qwen3-30B-A3B.json", "families/nemotron-h.json"}) {
    EXPECT_EQ(page_classes(spec_of(name), 0), std::vector<PageClass>{PageClass{}}) << name;
  }
}

TEST(PageLayout, HalfOfTheLayersOfGptOssSee128Tokens) {
  const ModelSpec spec = spec_of("released/openai--gpt-oss-120b.json");
  EXPECT_EQ(page_classes(spec, 0), (std::vector<PageClass>{{0, 1}, {128, 1}}));
  EXPECT_EQ(page_classes(spec, 128), std::vector<PageClass>{PageClass{}});
  EXPECT_EQ(page_classes(spec, 129), page_classes(spec, 0));
}

// Chunks of attention reach as far as a window of their size.
TEST(PageLayout, ChunksAreWindows) {
  const ModelSpec spec = spec_of("released/meta-llama--Llama-4-Scout-17B-16E-Instruct.json");
  EXPECT_EQ(page_classes(spec, 0), (std::vector<PageClass>{{0, 1}, {8192, 3}}));
}

// Of all models here, the pages of a block hold at most a tenth more than its keys and values.
TEST(PageLayout, WastesLittle) {
  int64_t shared = 0;
  for (const char* folder : {"released", "families"}) {
    const auto configs = std::filesystem::path(DURE_SOURCE_DIR) / "testdata/configs" / folder;
    for (const auto& entry : std::filesystem::directory_iterator(configs)) {
      const ModelSpec spec = load_spec(entry.path());
      const std::vector<PageClass> classes = page_classes(spec, 0);
      int64_t tables = 0;
      for (const PageClass& each : classes) tables += each.tables;
      const RankShare share = share_of(spec, {}, 0);
      const int64_t paged = tables * page_layout(spec, {}, share, classes).elements;
      const int64_t needed = kv_bytes_per_token(spec, {}, share, 1);
      shared += tables > 1 ? 1 : 0;
      EXPECT_GE(paged, needed) << entry.path();
      EXPECT_LE(static_cast<double>(paged), 1.1 * static_cast<double>(needed)) << entry.path();
    }
  }
  EXPECT_GT(shared, 3);
}

// Whatever the layout: layers that share a table lie apart, within the page.
TEST(PageLayout, LayersOfATableLieBesideEachOther) {
  for (const char* name :
       {"released/google--gemma-4-26B-A4B.json", "released/openai--gpt-oss-120b.json",
        "released/meta-llama--Llama-4-Scout-17B-16E-Instruct.json"}) {
    const ModelSpec spec = spec_of(name);
    const std::vector<PageClass> classes = page_classes(spec, 0);
    for (const Layout& layout : {Layout{1, 1, 1, 1}, Layout{4, 1, 1, 1}, Layout{3, 5, 1, 1}}) {
      for (int rank = 0; rank < layout.world(); ++rank) {
        const RankShare share = share_of(spec, layout, rank);
        const PageLayout pages = page_layout(spec, layout, share, classes);
        std::map<int64_t, int64_t> used;  // of each table
        for (int64_t i = 0; i < share.layers.size(); ++i) {
          const LayerPlace& place = pages.layers[static_cast<size_t>(i)];
          EXPECT_EQ(place.offset, used[place.table]) << name;
          used[place.table] +=
              cached_elements(spec.layers[static_cast<size_t>(share.layers.begin + i)].attention,
                              layout.tp, share.place.tp);
        }
        for (const auto& [table, elements] : used) EXPECT_LE(elements, pages.elements) << name;
      }
    }
  }
}

}  // namespace
}  // namespace dure
