// See plan_json.h.
#include "cli/plan_json.h"

#include <nlohmann/json.hpp>

#include "cli/memory_report.h"

namespace dure {
namespace {

void put_service(Json& json, const Service& service) {
  json["ttft_s"] = service.ttft;
  json["tpot_s"] = service.tpot;
  json["tokens_per_s"] = service.tokens_per_s;
  json["tokens_per_s_per_gpu"] = service.per_gpu;
  json["tokens_per_s_per_user"] = service.per_user;
  json["users"] = service.users;
  json["requests_per_s"] = service.requests_per_s;
  json["request_s"] = service.request_seconds;
  json["in_flight"] = service.in_flight;
}

Json band_json(const ErrorBand& band, double value) {
  return {band.low * value, band.high * value};
}

Json step_json(const TypicalStep& step) {
  Json operations = Json::object();
  for (size_t i = 0; i < operations_of_a_step; ++i) {
    const auto operation = static_cast<Operation>(i);
    operations[to_string(operation)] = step.time.of(operation);
  }
  Json bounds = Json::object();
  for (size_t i = 0; i < step.time.by_bound.size(); ++i) {
    bounds[to_string(static_cast<Bound>(i))] = step.time.by_bound[i];
  }
  return {{"seconds", step.time.total()},           {"decodes", step.load.decodes},
          {"cached_tokens", step.load.decode_keys}, {"prefill_tokens", step.load.prefill_tokens},
          {"by_operation_s", operations},           {"by_bound_s", bounds}};
}

Json ranks_json(const PlannedLayout& planned) {
  Json ranks = Json::array();
  for (const PlannedRank& rank : planned.ranks) {
    Json json = rank_json(rank.place, rank.layers, rank.experts);
    json["node"] = rank.node;
    json["gpu"] = rank.slot;
    put_memory(json, rank.memory, rank.free);
    ranks.push_back(json);
  }
  return ranks;
}

Json pool_json(const PlannedPool& pool) {
  return {{"layout", layout_json(pool.layout)},
          {"workers", pool.workers},
          {"gpus", pool.gpus()},
          {"busy", pool.busy}};
}

Json planned_json(const PlannedLayout& planned) {
  Json json = {
      {"layout", layout_json(planned.layout)},    {"replicas", planned.replicas},
      {"gpus_used", planned.gpus_used},           {"gpus_idle", planned.gpus_idle},
      {"nodes_of_a_replica", planned.nodes_each}, {"ranks_per_node", planned.ranks_per_node}};
  put_service(json, planned.service);
  json["ttft_band_s"] = band_json(planned.ttft_band, planned.service.ttft);
  json["tpot_band_s"] = band_json(planned.tpot_band, planned.service.tpot);
  json["unmeasured"] = planned.unmeasured;
  json["users_most"] = planned.users_most;
  json["users_end_by"] = planned.users_end;
  json["bound"] = to_string(planned.bound);
  json["balance"] = {{"dense_tokens", planned.balance.dense},
                     {"moe_tokens", planned.balance.experts},
                     {"decode_tokens", planned.decode.load.decodes},
                     {"side", to_string(planned.balance.bound)}};
  json["meets_limits"] = planned.meets_limits;
  json["miss"] = planned.miss;
  const PlannedRank& tightest = planned.ranks[planned.tightest];
  put_memory(json, tightest.memory, tightest.free);
  json["kv_tokens"] = planned.kv_tokens * planned.layout.dp * planned.replicas;
  json["kv_tokens_per_dp_group"] = planned.kv_tokens;
  json["kv_type"] = planned.kv.name;
  json["max_batch_tokens"] = planned.chunk;
  json["max_sequences"] = planned.batch;
  json["decode_step"] = step_json(planned.decode);
  json["prefill_step"] = step_json(planned.prefill);
  json["ranks"] = ranks_json(planned);
  if (planned.pools) {
    json["pools"] = {{"prefill", pool_json(planned.pools->prefill)},
                     {"decode", pool_json(planned.pools->decode)},
                     {"transfer_s", planned.pools->transfer},
                     {"transfer_bytes", planned.pools->transfer_bytes}};
  }
  return json;
}

Json points_json(const PlanAnswer& answer) {
  Json points = Json::array();
  for (const ParetoPoint& point : answer.points) {
    points.push_back({{"layout", layout_json(point.layout)},
                      {"replicas", point.replicas},
                      {"concurrency", point.concurrency},
                      {"tokens_per_s_per_gpu", point.per_gpu},
                      {"tokens_per_s_per_user", point.per_user},
                      {"ttft_s", point.ttft},
                      {"tpot_s", point.tpot},
                      {"on_front", point.on_front},
                      {"meets_limits", point.meets_limits}});
  }
  return points;
}

Json rejected_json(const PlanAnswer& answer) {
  Json rejected = Json::array();
  for (const RejectedLayout& each : answer.rejected) {
    rejected.push_back({{"layout", layout_json(each.layout)},
                        {"replicas", each.replicas},
                        {"class", to_string(each.why)},
                        {"reason", each.reason}});
  }
  return rejected;
}

Json rule_json(const RuleOfThumb& rule) {
  Json json = {{"layout", layout_json(rule.layout)},
               {"why", rule.why},
               {"difference", rule.difference},
               {"planned", nullptr}};
  if (rule.planned) json["planned"] = planned_json(*rule.planned);
  return json;
}

Json alternatives_json(const PlanAnswer& answer) {
  Json alternatives = Json::array();
  for (const Alternative& each : answer.alternatives) {
    Json json = {{"title", each.title},
                 {"applies", each.applies},
                 {"text", each.text},
                 {"gpus", each.gpus},
                 {"users_most", each.users_most},
                 {"meets_limits", each.meets_limits}};
    if (each.layout) json["layout"] = layout_json(*each.layout);
    if (each.service) put_service(json, *each.service);
    alternatives.push_back(json);
  }
  return alternatives;
}

}  // namespace

Json plan_json(const PlanQuestion& question, const PlanAnswer& answer) {
  Json json = {{"model", question.model},
               {"gpu", question.gpu.name},
               {"gpus", question.gpus},
               {"gpus_per_node", question.gpus_per_node},
               {"nic_bytes_per_s", question.nic},
               {"engine", to_string(question.engine)},
               {"input", question.input},
               {"output", question.output},
               {"concurrency", question.concurrency},
               {"rate", question.rate},
               {"ttft_limit_s", question.ttft_limit},
               {"tpot_limit_s", question.tpot_limit},
               {"objective", to_string(question.objective)},
               {"weight_bytes", answer.weight_bytes},
               {"met", answer.met},
               {"verdict", answer.verdict},
               {"layouts_considered", answer.layouts},
               {"loads_replayed", answer.replays}};
  Json layouts = Json::array();
  for (const PlannedLayout& planned : answer.ranked) layouts.push_back(planned_json(planned));
  json["layouts"] = layouts;
  json["closest"] = nullptr;
  if (answer.closest) json["closest"] = planned_json(*answer.closest);
  json["rule_of_thumb"] = rule_json(answer.rule_of_thumb);
  json["rejected"] = rejected_json(answer);
  json["points"] = points_json(answer);
  json["alternatives"] = alternatives_json(answer);
  json["notes"] = answer.notes;
  json["remarks"] = answer.remarks;
  json["assumptions"] = answer.assumptions;
  return json;
}

}  // namespace dure
