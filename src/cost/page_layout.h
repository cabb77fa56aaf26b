// Where a rank's layers keep their keys and values within the pages of its cache: which of them
// share a table (schedule/page_class.h), and in what order they lie in its pages.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/shard.h"
#include "schedule/page_class.h"

namespace dure {

// The classes of a model's layers when no sequence has more than `context` tokens; 0: any may come.
// The one that sees furthest comes first. Each has as many tables as waste the least of the pages,
// which are all as large as the fullest table's. One at least, and the same for every layout.
std::vector<PageClass> page_classes(const ModelSpec& spec, int64_t context);

struct LayerPlace {
  int64_t table = 0;   // counted over all classes
  int64_t offset = 0;  // elements a token before it
};

struct PageLayout {
  std::vector<LayerPlace> layers;  // of the rank's stage; of those that keep something
  int64_t elements = 0;            // a token, in a page
};

PageLayout page_layout(const ModelSpec& spec, const Layout& layout, const RankShare& share,
                       const std::vector<PageClass>& classes);

}  // namespace dure
