// See page_layout.h.
#include "cost/page_layout.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace dure {
namespace {

constexpr int32_t most_tables_of_a_class = 16;

// Tokens that a query of the layer sees, its own included; 0: all that may come.
int64_t reach_of(const AttentionSpec& attention, int64_t context) {
  const auto* gqa = std::get_if<GqaSpec>(&attention);
  if (gqa == nullptr) return 0;
  constexpr int64_t all = std::numeric_limits<int64_t>::max();
  const int64_t reach = std::min(gqa->window.value_or(all), gqa->chunk.value_or(all));
  return reach == all || (context > 0 && reach >= context) ? 0 : reach;
}

// Whether a class that reaches as far as `a` comes before one that reaches as far as `b`.
bool sees_further(int64_t a, int64_t b) {
  return b != 0 && (a == 0 || a > b);
}

// Layers go one by one to the table that holds the least so far.
class Deal {
 public:
  explicit Deal(int32_t tables) : held_(static_cast<size_t>(tables), 0) {}

  LayerPlace add(int64_t elements) {
    const auto least = std::min_element(held_.begin(), held_.end());
    const LayerPlace place{least - held_.begin(), *least};
    *least += elements;
    return place;
  }
  int64_t fullest() const { return *std::max_element(held_.begin(), held_.end()); }

 private:
  std::vector<int64_t> held_;
};

// A class before it is known how many tables it gets.
struct LayersOfReach {
  int64_t reach = 0;
  std::vector<int64_t> elements;  // of each layer, a token
  std::vector<int64_t> fullest;   // [tables - 1]: elements of the fullest table

  void deal() {
    const auto most = std::min<size_t>(elements.size(), most_tables_of_a_class);
    for (size_t tables = 1; tables <= most; ++tables) {
      Deal dealt(static_cast<int32_t>(tables));
      for (const int64_t each : elements) dealt.add(each);
      fullest.push_back(dealt.fullest());
    }
  }
  // The fewest whose fullest holds no more than that; nothing: too many.
  std::optional<int32_t> tables_for(int64_t page) const {
    const auto enough =
        std::find_if(fullest.begin(), fullest.end(), [&](int64_t each) { return each <= page; });
    if (enough == fullest.end()) return std::nullopt;
    return static_cast<int32_t>(enough - fullest.begin()) + 1;
  }
};

std::vector<LayersOfReach> layers_by_reach(const ModelSpec& spec, int64_t context) {
  std::vector<LayersOfReach> found;
  for (const LayerSpec& layer : spec.layers) {
    const int64_t elements = cached_elements(layer.attention, 1, 0);
    if (elements == 0) continue;
    const int64_t reach = reach_of(layer.attention, context);
    auto same = std::find_if(found.begin(), found.end(),
                             [&](const LayersOfReach& each) { return each.reach == reach; });
    if (same == found.end()) same = found.insert(found.end(), {reach, {}, {}});
    same->elements.push_back(elements);
  }
  std::sort(found.begin(), found.end(), [](const LayersOfReach& a, const LayersOfReach& b) {
    return sees_further(a.reach, b.reach);
  });
  return found;
}

}  // namespace

std::vector<PageClass> page_classes(const ModelSpec& spec, int64_t context) {
  std::vector<LayersOfReach> layers = layers_by_reach(spec, context);
  if (layers.empty()) return {PageClass{}};
  if (layers.size() == 1) return {PageClass{layers[0].reach, 1}};
  for (LayersOfReach& each : layers) each.deal();
  std::vector<PageClass> best;
  int64_t best_block = 0;  // elements of a block's pages in all classes
  int64_t best_tables = 0;
  for (const LayersOfReach& sized_by : layers) {
    for (const int64_t page : sized_by.fullest) {
      std::vector<PageClass> classes;
      int64_t tables = 0;
      for (const LayersOfReach& each : layers) {
        const std::optional<int32_t> enough = each.tables_for(page);
        if (!enough) break;
        classes.push_back({each.reach, *enough});
        tables += *enough;
      }
      if (classes.size() < layers.size()) continue;
      const int64_t block = tables * page;
      if (!best.empty() && std::pair(best_block, best_tables) <= std::pair(block, tables)) continue;
      best = classes;
      best_block = block;
      best_tables = tables;
    }
  }
  return best;
}

PageLayout page_layout(const ModelSpec& spec, const Layout& layout, const RankShare& share,
                       const std::vector<PageClass>& classes) {
  std::vector<Deal> deals;
  std::vector<int64_t> first_table;
  int64_t tables = 0;
  for (const PageClass& each : classes) {
    deals.emplace_back(each.tables);
    first_table.push_back(tables);
    tables += each.tables;
  }
  PageLayout result;
  for (int64_t i = share.layers.begin; i < share.layers.end; ++i) {
    const AttentionSpec& attention = spec.layers[static_cast<size_t>(i)].attention;
    const int64_t elements = cached_elements(attention, layout.tp, share.place.tp);
    LayerPlace& place = result.layers.emplace_back();
    if (elements == 0) continue;
    // Windows that hold all that may come are as good as none.
    const int64_t reach = reach_of(attention, 0);
    const auto of_reach = std::find_if(classes.begin(), classes.end(),
                                       [&](const PageClass& each) { return each.reach == reach; });
    const auto c = static_cast<size_t>(of_reach == classes.end() ? 0 : of_reach - classes.begin());
    place = deals[c].add(elements);
    place.table += first_table[c];
  }
  for (const Deal& deal : deals) result.elements = std::max(result.elements, deal.fullest());
  return result;
}

}  // namespace dure
