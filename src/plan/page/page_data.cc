// See page_data.h.
#include "plan/page/page_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cost/retype.h"
#include "plan/cache_room.h"
#include "plan/candidates.h"
#include "plan/describe.h"
#include "plan/page/node_map.h"
#include "plan/page/page_lists.h"
#include "plan/page/rank_memory_page.h"
#include "plan/reasons.h"

namespace dure {
namespace {

constexpr size_t most_in_detail = 5;  // ranked layouts with memory, nodes and steps
constexpr size_t most_ranked = 100;   // rows

std::string engine_words(const PlanQuestion& question) {
  if (question.engine == Engine::dure) return "Dure";
  return engine_profile(question.engine, question.engine_version, question.gpu.usable_bytes).label;
}

Json balance_json(const PlannedLayout& planned) {
  return {{"dense_tokens", short_number(planned.balance.dense)},
          {"moe_tokens", short_number(planned.balance.experts)},
          {"decode_tokens", short_number(planned.decode.load.decodes)},
          {"side", to_string(planned.balance.bound)}};
}

Json question_json(const ModelSpec& spec, const PlanQuestion& question, const PlanAnswer& answer) {
  const int node = question.gpus_per_node;
  return {{"model", question.model},
          {"gpu", question.gpu.name},
          {"gpus", question.gpus},
          {"gpus_per_node", node},
          {"nodes", (question.gpus + node - 1) / node},
          {"gpu_bytes", question.gpu.usable_bytes},
          {"engine", engine_words(question)},
          {"weights", question.weights ? std::string(question.weights->name)
                                       : std::string(to_string(spec.dtype))},
          {"weight_bytes", answer.weight_bytes},
          {"has_experts", has_experts(spec)},
          {"input", question.input},
          {"output", question.output},
          {"concurrency", question.concurrency},
          {"rate", question.rate},
          {"ttft_limit_s", question.ttft_limit},
          {"tpot_limit_s", question.tpot_limit},
          {"objective", to_string(question.objective)}};
}

Json step_json(const TypicalStep& step) {
  Json seconds = Json::array();
  for (size_t i = 0; i < operations_of_a_step; ++i) {
    seconds.push_back(short_number(step.time.of(static_cast<Operation>(i))));
  }
  const double keys = step.load.decodes > 0.0 ? step.load.decode_keys / step.load.decodes : 0.0;
  return {{"seconds", short_number(step.time.total())},
          {"sequences", short_number(step.load.decodes)},
          {"tokens_each", short_number(keys)},
          {"prompt_tokens", short_number(step.load.prefill_tokens)},
          {"bound", to_string(step.time.bound())},
          {"by_operation", seconds}};
}

Json operations_json() {
  Json json = Json::array();
  for (size_t i = 0; i < operations_of_a_step; ++i) {
    const auto operation = static_cast<Operation>(i);
    json.push_back({to_string(operation), in_words(operation)});
  }
  return json;
}

Json sizes_json(const Layout& layout) {
  return {{"tp", layout.tp},
          {"pp", layout.pp},
          {"dp", layout.dp},
          {"ep", layout.ep},
          {"expert_slices", layout.etp()}};
}

Json pool_json(const PlannedPool& pool) {
  return {{"name", replicas_text(pool.layout, pool.workers)},
          {"workers", pool.workers},
          {"gpus", pool.gpus()},
          {"busy", short_number(pool.busy)}};
}

class Page {
 public:
  Page(const ModelSpec& spec, const PlanQuestion& question, const PlanAnswer& answer)
      : memory_(spec, question.weights), question_(question), answer_(answer) {}

  // The best, its runners-up and the rule of thumb; where nothing fits, what is nearest to it.
  Json layouts() const {
    Json layouts = Json::array();
    for (size_t i = 0; i < std::min(most_ranked, answer_.ranked.size()); ++i) {
      const PlannedLayout& planned = answer_.ranked[i];
      const char* role = i == 0 ? "best" : "runner-up";
      layouts.push_back(planned_json(planned, role, i < most_in_detail || planned.pools));
    }
    if (answer_.closest) layouts.push_back(planned_json(*answer_.closest, "closest", true));
    const RuleOfThumb& rule = answer_.rule_of_thumb;
    if (rule.planned && !is_shown(*rule.planned)) {
      layouts.push_back(planned_json(*rule.planned, "rule of thumb", true));
    }
    if (layouts.empty()) {
      if (const auto nearest = nearest_to_fit()) layouts.push_back(too_large_json(*nearest));
    }
    return layouts;
  }

  bool is_shown(const PlannedLayout& planned) const {
    const auto same = [&](const PlannedLayout& other) {
      return !other.pools && other.layout == planned.layout && other.replicas == planned.replicas;
    };
    return std::any_of(answer_.ranked.begin(), answer_.ranked.end(), same) ||
           (answer_.closest && same(*answer_.closest));
  }

 private:
  Json planned_json(const PlannedLayout& planned, const char* role, bool in_detail) const {
    const Service& service = planned.service;
    const auto band = [](const ErrorBand& band, double value) {
      return Json{short_number(band.low * value), short_number(band.high * value)};
    };
    Json json = {{"name", replicas_text(planned)},
                 {"role", role},
                 {"fits", true},
                 {"replicas", planned.replicas},
                 {"ranks", planned.layout.world()},
                 {"sizes", sizes_json(planned.layout)},
                 {"gpus_used", planned.gpus_used},
                 {"gpus_idle", planned.gpus_idle},
                 {"nodes_each", planned.nodes_each},
                 {"ranks_per_node", planned.ranks_per_node},
                 {"kv", planned.kv.name},
                 {"kv_tokens", planned.kv_tokens},
                 {"chunk", planned.chunk},
                 {"batch", planned.batch},
                 {"ttft_s", short_number(service.ttft)},
                 {"ttft_band_s", band(planned.ttft_band, service.ttft)},
                 {"tpot_s", short_number(service.tpot)},
                 {"tpot_band_s", band(planned.tpot_band, service.tpot)},
                 {"tokens_per_s", short_number(service.tokens_per_s)},
                 {"per_gpu", short_number(service.per_gpu)},
                 {"per_user", short_number(service.per_user)},
                 {"requests_per_s", short_number(service.requests_per_s)},
                 {"request_s", short_number(service.request_seconds)},
                 {"unmeasured", planned.unmeasured},
                 {"users", short_number(service.users)},
                 {"users_most", planned.users_most},
                 {"balance", balance_json(planned)},
                 {"users_end", planned.users_end},
                 {"bound", to_string(planned.bound)},
                 {"meets_limits", planned.meets_limits},
                 {"miss", planned.miss}};
    if (planned.pools) {
      json["pools"] = {{"prefill", pool_json(planned.pools->prefill)},
                       {"decode", pool_json(planned.pools->decode)},
                       {"transfer_s", short_number(planned.pools->transfer)},
                       {"transfer_bytes", planned.pools->transfer_bytes}};
    }
    if (!in_detail) return json;
    const RankGroups groups = equal_ranks(planned.ranks);
    json["memory"] = memory_json(memory_, question_, planned.layout, planned.ranks, groups);
    json["cluster"] = cluster_json(question_, planned);
    json["nodes"] = replica_json(planned, groups.of);
    json["decode"] = step_json(planned.decode);
    json["prefill"] = step_json(planned.prefill);
    return json;
  }

  // Of those that memory refused, the one with the least missing.
  std::optional<Layout> nearest_to_fit() const {
    std::optional<std::pair<int64_t, Layout>> nearest;
    for (const RejectedLayout& each : answer_.rejected) {
      if (each.why != RejectedFor::does_not_fit) continue;
      const int64_t free = room_of(memory_, smallest_question(each.layout)).free;
      if (!nearest || free > nearest->first) nearest = {free, each.layout};
    }
    if (!nearest) return std::nullopt;
    return nearest->second;
  }

  // One sequence of each dp rank, in the smallest steps: if this does not fit, nothing does.
  FitQuestion smallest_question(const Layout& layout) const {
    const int64_t chunk = std::min(usual_chunk(question_), smallest_chunk);
    return fit_question(question_, layout, smallest_cache(), chunk, layout.dp);
  }

  const KvFormat& smallest_cache() const {
    return *std::min_element(question_.kv_formats.begin(), question_.kv_formats.end(),
                             [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  }

  Json too_large_json(const Layout& layout) const {
    const Placement placement = place(layout, question_.gpus, question_.gpus_per_node);
    PlannedLayout planned;
    planned.layout = layout;
    planned.nodes_each = placement.nodes_each;
    planned.ranks_per_node = placement.ranks_per_node;
    const FitQuestion asked = smallest_question(layout);
    planned.ranks = planned_ranks(memory_, asked, planned.ranks_per_node);
    if (room_of(memory_, asked).free < 0) {
      for (PlannedRank& rank : planned.ranks) without_cache(rank);
    }
    const RankGroups groups = equal_ranks(planned.ranks);
    int64_t least = 0;
    for (const PlannedRank& rank : planned.ranks) least = std::min(least, rank.free);
    return {{"name", replicas_text(layout, 1)},
            {"role", "nearest to fit"},
            {"fits", false},
            {"ranks", layout.world()},
            {"sizes", sizes_json(layout)},
            {"nodes_each", planned.nodes_each},
            {"ranks_per_node", planned.ranks_per_node},
            {"kv", smallest_cache().name},
            {"chunk", asked.shape.max_batch_tokens},
            {"missing", -least},
            {"memory", memory_json(memory_, question_, layout, planned.ranks, groups)},
            {"cluster", cluster_json(question_, planned)},
            {"nodes", replica_json(planned, groups.of)}};
  }

  // Where there is not even room for the rest, that is what is missing.
  static void without_cache(PlannedRank& rank) {
    rank.free += rank.memory.kv;
    rank.memory.kv = 0;
  }

  MemoryModel memory_;
  const PlanQuestion& question_;
  const PlanAnswer& answer_;
};

Json rule_json(const Page& page, const RuleOfThumb& rule) {
  const int replicas = rule.planned ? rule.planned->replicas : 1;
  return {{"name", replicas_text(rule.layout, replicas)},
          {"runs", rule.planned.has_value()},
          {"is_ranked", rule.planned && page.is_shown(*rule.planned)},
          {"why", rule.why},
          {"difference", rule.difference}};
}

}  // namespace

Json page_data(const ModelSpec& spec, const PlanQuestion& question, const PlanAnswer& answer) {
  const Page page(spec, question, answer);
  return {{"title", fmt::format("{} on {} × {}", question.model, question.gpus, question.gpu.name)},
          {"verdict", answer.verdict},
          {"met", answer.met},
          {"fits", !answer.ranked.empty() || answer.closest.has_value()},
          {"question", question_json(spec, question, answer)},
          {"memory_kinds", memory_kinds_json()},
          {"operations", operations_json()},
          {"layouts", page.layouts()},
          {"rule_of_thumb", rule_json(page, answer.rule_of_thumb)},
          {"points", points_json(answer)},
          {"rejected", rejected_json(answer)},
          {"ways_out", ways_json(answer)},
          {"notes", answer.notes},
          {"assumptions", answer.assumptions},
          {"layouts_considered", answer.layouts},
          {"loads_replayed", answer.replays},
          {"version", DURE_VERSION}};
}

}  // namespace dure
