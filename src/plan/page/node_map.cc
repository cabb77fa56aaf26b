// See node_map.h.
#include "plan/page/node_map.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace dure {
namespace {

constexpr int most_nodes_drawn = 4;  // each by itself
constexpr int idle = -1;

using Runs = std::vector<std::pair<int, int>>;  // unit, GPUs

// Fills the cluster's nodes with units of equally many GPUs on each of their nodes.
class Filling {
 public:
  explicit Filling(const PlanQuestion& question) {
    for (int left = question.gpus; left > 0; left -= question.gpus_per_node) {
      sizes_.push_back(std::min(left, question.gpus_per_node));
    }
    nodes_.resize(sizes_.size());
    used_.resize(sizes_.size());
  }

  void put(int unit, int nodes, int gpus_of_each) {
    if (nodes > 1 && at_ < sizes_.size() && used_[at_] > 0) ++at_;
    for (int i = 0; i < nodes; ++i) {
      while (at_ < sizes_.size() && used_[at_] + gpus_of_each > sizes_[at_]) ++at_;
      if (at_ == sizes_.size()) return;
      nodes_[at_].emplace_back(unit, gpus_of_each);
      used_[at_] += gpus_of_each;
      if (nodes > 1) ++at_;
    }
  }

  Json json() {
    Json nodes = Json::array();
    for (size_t first = 0; first < nodes_.size();) {
      size_t last = first;
      while (last + 1 < nodes_.size() && alike(first, last + 1)) ++last;
      Runs runs = nodes_[first];
      if (sizes_[first] > used_[first]) runs.emplace_back(idle, sizes_[first] - used_[first]);
      nodes.push_back({{"first", first}, {"last", last}, {"gpus", runs}});
      first = last + 1;
    }
    return nodes;
  }

 private:
  // A few nodes are drawn each for itself; of many, those that hold as many whole units.
  bool alike(size_t a, size_t b) const {
    constexpr size_t few = 64;
    if (nodes_.size() <= few || sizes_[a] != sizes_[b]) return false;
    return std::equal(
        nodes_[a].begin(), nodes_[a].end(), nodes_[b].begin(), nodes_[b].end(),
        [](const auto& one, const auto& other) { return one.second == other.second; });
  }

  std::vector<int> sizes_;  // GPUs of each node
  std::vector<int> used_;
  std::vector<Runs> nodes_;
  size_t at_ = 0;
};

// Nodes of one worker, and its ranks on each of them.
std::pair<int, int> spread(const Layout& layout, int gpus_per_node) {
  const int nodes = (layout.world() + gpus_per_node - 1) / gpus_per_node;
  return {nodes, layout.world() / nodes};
}

Json rank_json(const PlannedRank& rank, int group) {
  return {rank.slot,     rank.place.rank,   rank.place.stage, rank.place.dp,      rank.place.tp,
          rank.place.ep, rank.layers.begin, rank.layers.end,  rank.experts.begin, rank.experts.end,
          group};
}

using Ranks = std::span<const PlannedRank>;

// Of all ranks: the first and the last number of what tells them apart.
Json ranges_json(Ranks ranks) {
  const auto range = [&](auto first, auto last) {
    int64_t least = first(ranks[0]);
    int64_t most = last(ranks[0]);
    for (const PlannedRank& rank : ranks) {
      least = std::min<int64_t>(least, first(rank));
      most = std::max<int64_t>(most, last(rank));
    }
    return Json{least, most};
  };
  const auto of = [&](int RankPlace::*field) {
    const auto value = [field](const PlannedRank& rank) { return rank.place.*field; };
    return range(value, value);
  };
  return {{"stage", of(&RankPlace::stage)},
          {"dp", of(&RankPlace::dp)},
          {"tp", of(&RankPlace::tp)},
          {"ep", of(&RankPlace::ep)},
          {"layers", range([](const PlannedRank& r) { return r.layers.begin; },
                           [](const PlannedRank& r) { return r.layers.end; })},
          {"experts", range([](const PlannedRank& r) { return r.experts.begin; },
                            [](const PlannedRank& r) { return r.experts.end; })}};
}

bool hold_as_much(Ranks a, Ranks b, std::span<const int> group) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const PlannedRank& one, const PlannedRank& other) {
                      return group[static_cast<size_t>(one.place.rank)] ==
                             group[static_cast<size_t>(other.place.rank)];
                    });
}

}  // namespace

Json cluster_json(const PlanQuestion& question, const PlannedLayout& planned) {
  Filling filling(question);
  int unit = 0;
  if (planned.pools) {
    for (const PlannedPool* pool : {&planned.pools->prefill, &planned.pools->decode}) {
      const auto [nodes, each] = spread(pool->layout, question.gpus_per_node);
      for (int i = 0; i < pool->workers; ++i) filling.put(unit++, nodes, each);
    }
  } else {
    for (int i = 0; i < planned.replicas; ++i) {
      filling.put(unit++, planned.nodes_each, planned.ranks_per_node);
    }
  }
  return filling.json();
}

Json replica_json(const PlannedLayout& planned, std::span<const int> group) {
  const auto each = static_cast<size_t>(planned.ranks_per_node);
  const Ranks all(planned.ranks);
  const auto node = [&](size_t i) { return all.subspan(i * each, each); };
  const size_t nodes = all.size() / each;
  Json json = Json::array();
  for (size_t first = 0; first < nodes;) {
    size_t last = first;
    while (nodes > most_nodes_drawn && last + 1 < nodes &&
           hold_as_much(node(first), node(last + 1), group)) {
      ++last;
    }
    Json ranks = Json::array();
    for (const PlannedRank& rank : node(first)) {
      ranks.push_back(rank_json(rank, group[static_cast<size_t>(rank.place.rank)]));
    }
    json.push_back({{"first", first},
                    {"last", last},
                    {"ranges", ranges_json(all.subspan(first * each, (last - first + 1) * each))},
                    {"ranks", ranks}});
    first = last + 1;
  }
  return json;
}

}  // namespace dure
