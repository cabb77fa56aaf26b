// See page_lists.h.
#include "plan/page/page_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "plan/reasons.h"

namespace dure {
namespace {

constexpr size_t most_beside_the_front = 1000;
constexpr size_t most_on_the_front = 1000;
constexpr size_t most_reasons = 12;  // of a class

constexpr std::array<std::pair<RejectedFor, const char*>, 8> classes = {{
    {RejectedFor::does_not_fit, "Do not fit in memory"},
    {RejectedFor::crosses_nodes, "Lose their time between nodes"},
    {RejectedFor::tpot, "Miss the limit of the time per token"},
    {RejectedFor::ttft, "Miss the limit of the time to the first token"},
    {RejectedFor::rate, "Cannot keep up with the requests"},
    {RejectedFor::slower, "Slower than those ranked"},
    {RejectedFor::placement, "Do not lie evenly on these nodes"},
    {RejectedFor::engine, "The engine has no such split"},
}};

// At most `most` of them, evenly.
std::vector<const ParetoPoint*> thinned(const std::vector<const ParetoPoint*>& all, size_t most) {
  if (all.size() <= most) return all;
  std::vector<const ParetoPoint*> some;
  for (size_t i = 0; i < most; ++i) some.push_back(all[i * all.size() / most]);
  return some;
}

}  // namespace

double short_number(double value) {
  return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr);
}

Json points_json(const PlanAnswer& answer) {
  std::vector<const ParetoPoint*> front;
  std::vector<const ParetoPoint*> others;
  for (const ParetoPoint& point : answer.points) {
    (point.on_front ? front : others).push_back(&point);
  }
  std::vector<const ParetoPoint*> shown = thinned(others, most_beside_the_front);
  for (const ParetoPoint* point : thinned(front, most_on_the_front)) shown.push_back(point);
  std::vector<std::string> names;
  Json rows = Json::array();
  for (const ParetoPoint* point : shown) {
    const std::string name = replicas_text(point->layout, point->replicas);
    const auto at = std::find(names.begin(), names.end(), name) - names.begin();
    if (at == static_cast<ptrdiff_t>(names.size())) names.push_back(name);
    rows.push_back({at, point->concurrency, short_number(point->per_user),
                    short_number(point->per_gpu), short_number(point->ttft),
                    short_number(point->tpot), point->on_front ? 1 : 0,
                    point->meets_limits ? 1 : 0});
  }
  return {{"names", names}, {"rows", rows}, {"left_out", answer.points.size() - shown.size()}};
}

Json rejected_json(const PlanAnswer& answer) {
  Json json = Json::array();
  for (const auto& [why, words] : classes) {
    std::vector<const RejectedLayout*> all;
    for (const RejectedLayout& each : answer.rejected) {
      if (each.why == why) all.push_back(&each);
    }
    if (all.empty()) continue;
    // Of those that do not fit, the last have most ranks; the others are in order.
    if (why == RejectedFor::does_not_fit) std::reverse(all.begin(), all.end());
    Json reasons = Json::array();
    for (size_t i = 0; i < std::min(most_reasons, all.size()); ++i) {
      reasons.push_back({in_short(all[i]->layout), all[i]->reason});
    }
    json.push_back(
        {{"class", to_string(why)}, {"words", words}, {"count", all.size()}, {"reasons", reasons}});
  }
  return json;
}

Json ways_json(const PlanAnswer& answer) {
  Json json = Json::array();
  for (const Alternative& each : answer.alternatives) {
    Json way = {{"title", each.title},
                {"applies", each.applies},
                {"text", each.text},
                {"meets_limits", each.meets_limits}};
    if (each.service) {
      way["tokens_per_s"] = short_number(each.service->tokens_per_s);
      way["tpot_s"] = short_number(each.service->tpot);
    }
    json.push_back(way);
  }
  return json;
}

}  // namespace dure
