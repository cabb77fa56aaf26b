// See describe.h.
#include "plan/describe.h"

#include <algorithm>

#include "plan/unmeasured.h"

namespace dure {
namespace {

Range experts_held(const ModelSpec& spec, const Layout& layout, const RankShare& share) {
  for (int64_t i = share.layers.begin; i < share.layers.end; ++i) {
    const auto* moe = std::get_if<MoeFfn>(&spec.layers[static_cast<size_t>(i)].ffn);
    if (moe != nullptr) return experts_of(*moe, layout, share.place.ep);
  }
  return {};
}

}  // namespace

Users most_users(const PlanModel& model, const PlanQuestion& question,
                 const Deployment& deployment) {
  const int64_t cached = deployment.room.sequences;
  const int64_t most = std::min(cached, deployment.batch);
  const auto with = [&](int64_t each) {
    const PlanQuestion closed = in_flight(question, each * deployment.groups());
    return miss_of(closed, serve(deployment, model.engine, load_of(closed)));
  };
  Users users;
  int64_t kept = 0;
  int64_t broken = most + 1;
  const bool limited = question.ttft_limit > 0.0 || question.tpot_limit > 0.0;
  users.end = cached <= deployment.batch ? "cache" : "sequences of a step";
  if (!limited) kept = most;
  while (broken - kept > 1) {
    const int64_t each = kept == 0 && broken == most + 1 ? most : (kept + broken) / 2;
    const std::string miss = with(each);
    (miss.empty() ? kept : broken) = each;
    if (!miss.empty()) users.end = miss.substr(0, 4);
  }
  users.count = kept * deployment.groups();
  return users;
}

std::vector<PlannedRank> planned_ranks(const MemoryModel& memory, const FitQuestion& question,
                                       int ranks_per_node) {
  const FitAnswer answer = fit(memory, question);
  const Layout& layout = question.layout;
  std::vector<PlannedRank> ranks;
  for (int rank = 0; rank < layout.world(); ++rank) {
    const RankShare share = share_of(memory.spec(), layout, rank);
    const RankFit& held = answer.ranks[static_cast<size_t>(rank)];
    ranks.push_back({share.place, rank / ranks_per_node, rank % ranks_per_node, share.layers,
                     experts_held(memory.spec(), layout, share), held.memory, held.free});
  }
  return ranks;
}

PlannedLayout describe(const PlanModel& model, const PlanQuestion& question, const Ranked& ranked) {
  const Deployment& deployment = ranked.deployment;
  const Layout& layout = deployment.layout;
  const PlannedLoad load = load_as_served(question, ranked.service);
  PlannedLayout planned;
  planned.layout = layout;
  planned.replicas = deployment.replicas;
  planned.gpus_used = deployment.gpus();
  planned.gpus_idle = question.gpus - planned.gpus_used;
  planned.nodes_each = deployment.placement.nodes_each;
  planned.ranks_per_node = deployment.placement.ranks_per_node;
  planned.kv = deployment.kv;
  planned.chunk = deployment.chunk;
  planned.batch = deployment.batch;

  const int64_t at_once = sequences_at_once(deployment, load.concurrency);
  planned.ranks = planned_ranks(
      model.memory,
      fit_question(question, layout, deployment.kv, deployment.chunk, at_once * layout.dp),
      planned.ranks_per_node);
  const auto least = std::min_element(planned.ranks.begin(), planned.ranks.end(),
                                      [](const auto& a, const auto& b) { return a.free < b.free; });
  planned.tightest = static_cast<size_t>(least - planned.ranks.begin());
  planned.kv_tokens = deployment.room.sequences * (load.input + load.output);

  planned.service = ranked.service;
  planned.ttft_band = model.engine.ttft;
  planned.tpot_band = model.engine.tpot;
  planned.unmeasured = unmeasured(model, question, deployment);
  const Users users = most_users(model, question, deployment);
  planned.users_most = users.count;
  planned.users_end = users.end;
  planned.decode = typical_decode(deployment, model.engine, load);
  planned.prefill = typical_prefill(deployment, model.engine, load);
  planned.balance =
      balance_of(deployment.work, deployment.hardware.gpu, planned.decode.load.decodes);
  planned.bound = planned.decode.time.bound();
  planned.miss = miss_of(question, ranked.service);
  planned.meets_limits = planned.miss.empty();
  return planned;
}

}  // namespace dure
