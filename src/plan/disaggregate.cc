// See disaggregate.h.
#include "plan/disaggregate.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/describe.h"
#include "plan/unmeasured.h"
#include "simulate/pools.h"

namespace dure {
namespace {

constexpr size_t prefillers_tried = 4;
constexpr size_t pairs_replayed = 8;

// A worker fills a part of a node that others fill too, or whole nodes.
bool packs(const Deployment& deployment, const PlanQuestion& question) {
  const int world = deployment.layout.world();
  const int node = question.gpus_per_node;
  return world <= node ? node % world == 0 : world % node == 0;
}

double prompt_seconds(const Deployment& deployment, const ServingProfile& engine,
                      const PlannedLoad& load) {
  StepLoad step;
  step.prefill_tokens = static_cast<double>(load.input);
  step.prefill_pairs = 0.5 * step.prefill_tokens * step.prefill_tokens;
  step.prompts = step.prompts_done = 1.0;
  return step_time(deployment.work, deployment.hardware, engine.constants, step).total();
}

// Each dp rank of a worker takes one.
double prompts_per_second(const Deployment& worker, const ServingProfile& engine,
                          const PlannedLoad& load) {
  return worker.layout.dp / prompt_seconds(worker, engine, load);
}

// One copy of a prompt's cache leaves by the NICs of the smaller worker; copies on other ranks
// come over their links.
Handover handover_of(const PlanModel& model, const PlanQuestion& question, const PoolPlan& plan) {
  RunShape shape;
  shape.kv_element_bytes = plan.decode.kv.bytes;
  shape.page_tokens = 1;
  const auto bytes =
      static_cast<double>(kv_page_bytes(model.spec, {}, share_of(model.spec, {}, 0), shape));
  const int nics = std::min(plan.prefill.layout.world(), plan.decode.layout.world());
  return {bytes, question.nic * nics};
}

Service serve_pools(const PlanModel& model, const PlanQuestion& question, const PoolPlan& plan,
                    const PlannedLoad& load) {
  const auto pool = [&](const Deployment& deployment) {
    EngineModel scheduling = model.engine.scheduling;
    scheduling.budget = deployment.chunk;
    return Pool{deployment.work, scheduling, deployment.replicas};
  };
  const Hardware hardware{*question.gpu.speed, question.gpus_per_node, question.nic};
  const ServedMeans means =
      replay_pools(pool(plan.prefill), pool(plan.decode), handover_of(model, question, plan),
                   hardware, model.engine.constants, closed_load(load, load.concurrency));
  Service service;
  service.ttft = means.ttft;
  service.tpot = means.tpot;
  service.tokens_per_s = means.tokens_per_s;
  complete(service, plan.gpus(), load);
  return service;
}

class PoolSearch {
 public:
  PoolSearch(const PlanModel& model, const PlanQuestion& question)
      : model_(model), question_(question), load_(load_of(question)) {}

  std::optional<PoolPlan> run(const std::vector<Deployment>& fits, std::string& why) {
    if (question_.gpus > question_.gpus_per_node && question_.gpus % question_.gpus_per_node != 0) {
      why = fmt::format("pools are not planned on unequal nodes: {} GPUs, {} a node",
                        question_.gpus, question_.gpus_per_node);
      return std::nullopt;
    }
    if (question_.rate > 0.0) {
      why = "pools are planned for --concurrency, not for --rate";
      return std::nullopt;
    }
    pair_up(fits);
    if (pairs_.empty()) {
      why = fmt::format(
          "no two workers that hold the model, and the cache of {} requests, fit on "
          "{} GPUs",
          question_.concurrency, question_.gpus);
      return std::nullopt;
    }
    std::stable_sort(pairs_.begin(), pairs_.end(),
                     [](const PoolPlan& a, const PoolPlan& b) { return a.score > b.score; });
    std::optional<PoolPlan> best;
    for (size_t i = 0; i < std::min(pairs_replayed, pairs_.size()); ++i) {
      replay(pairs_[i]);
      if (!best || is_better(pairs_[i], *best)) best = pairs_[i];
    }
    return best;
  }

  void replay(PoolPlan& plan) const {
    plan.service = serve_pools(model_, question_, plan, load_);
    plan.meets_limits = miss_of(question_, plan.service).empty();
    plan.score = score_of(question_, plan.service);
  }

 private:
  void pair_up(const std::vector<Deployment>& fits) {
    std::vector<const Deployment*> workers;
    for (const Deployment& each : fits) {
      if (packs(each, question_)) workers.push_back(&each);
    }
    for (const Deployment* prefill : prefillers(workers)) {
      for (const Deployment* decode : workers) share_out(*prefill, *decode);
    }
  }

  // Those that take most prompts for each GPU in time, and the quickest.
  std::vector<const Deployment*> prefillers(std::vector<const Deployment*> workers) const {
    const auto seconds = [&](const Deployment* each) {
      return prompt_seconds(*each, model_.engine, load_);
    };
    const auto per_gpu = [&](const Deployment* each) {
      return prompts_per_second(*each, model_.engine, load_) / each->layout.world();
    };
    if (workers.empty()) return workers;
    const Deployment* quickest = *std::min_element(
        workers.begin(), workers.end(),
        [&](const Deployment* a, const Deployment* b) { return seconds(a) < seconds(b); });
    if (question_.ttft_limit > 0.0) {
      std::erase_if(workers,
                    [&](const Deployment* each) { return seconds(each) > question_.ttft_limit; });
    }
    std::stable_sort(workers.begin(), workers.end(), [&](const Deployment* a, const Deployment* b) {
      return per_gpu(a) > per_gpu(b);
    });
    if (workers.size() > prefillers_tried) workers.resize(prefillers_tried);
    workers.push_back(quickest);
    return workers;
  }

  // The two ratios around the one at which both pools are busy.
  void share_out(const Deployment& prefill, const Deployment& decode) {
    const int gpus = question_.gpus;
    std::optional<PoolPlan> best;
    std::optional<PoolPlan> second;
    for (int workers = 1; workers * prefill.layout.world() < gpus; ++workers) {
      PoolPlan plan{prefill, decode, {}, true, 0.0};
      plan.prefill.replicas = workers;
      plan.decode.replicas = (gpus - workers * prefill.layout.world()) / decode.layout.world();
      if (plan.decode.replicas == 0) break;
      const int64_t room = plan.decode.groups() * plan.decode.room.sequences;
      if (room < load_.concurrency) break;
      plan.score = promised_rate(plan);
      if (!best || plan.score > best->score) {
        second = std::move(best);
        best = std::move(plan);
      } else if (!second || plan.score > second->score) {
        second = std::move(plan);
      }
    }
    if (best) pairs_.push_back(std::move(*best));
    if (second) pairs_.push_back(std::move(*second));
  }

  // Requests per second that the slower pool can take.
  double promised_rate(const PoolPlan& plan) const {
    const double prompts =
        plan.prefill.replicas * prompts_per_second(plan.prefill, model_.engine, load_);
    const TypicalStep step = typical_decode(plan.decode, model_.engine, load_);
    const double answers = plan.decode.groups() * step.load.decodes / step.time.total() /
                           static_cast<double>(load_.output);
    return std::min(prompts, answers);
  }

  bool is_better(const PoolPlan& a, const PoolPlan& b) const {
    if (a.meets_limits != b.meets_limits) return a.meets_limits;
    if (!a.meets_limits) return excess(question_, a.service) < excess(question_, b.service);
    return a.score > b.score;
  }

  const PlanModel& model_;
  const PlanQuestion& question_;
  PlannedLoad load_;
  std::vector<PoolPlan> pairs_;
};

// Requests in flight that keep the limits and find room in the decoders' caches.
Users most_users_of(const PlanModel& model, const PlanQuestion& question, const PoolPlan& plan) {
  const int64_t cached = plan.decode.groups() * plan.decode.room.sequences;
  Users users{0, "cache"};
  int64_t kept = plan.meets_limits ? question.concurrency : 0;
  int64_t broken = std::max(cached, kept) + 1;
  if (question.ttft_limit == 0.0 && question.tpot_limit == 0.0) kept = broken - 1;
  while (broken - kept > std::max<int64_t>(1, kept / 50)) {  // within 2%
    const int64_t each = kept == 0 ? (broken + 1) / 2 : std::min(2 * kept, (kept + broken) / 2);
    PlannedLoad load = load_of(question);
    load.concurrency = each;
    const std::string miss = miss_of(question, serve_pools(model, question, plan, load));
    (miss.empty() ? kept : broken) = each;
    if (!miss.empty()) users.end = miss.substr(0, 4);
  }
  users.count = kept;
  return users;
}

}  // namespace

std::optional<PoolPlan> best_pools(const PlanModel& model, const PlanQuestion& question,
                                   const std::vector<Deployment>& fits, std::string& why) {
  return PoolSearch(model, question).run(fits, why);
}

PlannedLayout describe_pools(const PlanModel& model, const PlanQuestion& question,
                             const PoolPlan& plan) {
  const PlannedLoad load = load_of(question);
  const Ranked decoding{plan.decode, plan.service, plan.meets_limits, plan.score, false};
  PlannedLayout planned = describe(model, question, decoding);
  const Handover handover = handover_of(model, question, plan);
  PlannedPools pools;
  const double requests = plan.service.requests_per_s;
  const double prompts =
      plan.prefill.replicas * prompts_per_second(plan.prefill, model.engine, load);
  const double decoding_at_once =
      requests * static_cast<double>(load.output - 1) * plan.service.tpot;
  const auto room = static_cast<double>(plan.decode.groups() * plan.decode.room.sequences);
  pools.prefill = {plan.prefill.layout, plan.prefill.replicas, requests / prompts};
  pools.decode = {plan.decode.layout, plan.decode.replicas, decoding_at_once / room};
  pools.transfer_bytes = static_cast<int64_t>(handover.bytes_per_token * load.input);
  pools.transfer = static_cast<double>(pools.transfer_bytes) / handover.bytes_per_s;
  planned.pools = pools;
  for (std::string& trait : unmeasured(model, question, plan.prefill)) {
    const auto end = planned.unmeasured.end();
    if (std::find(planned.unmeasured.begin(), end, trait) == end) {
      planned.unmeasured.push_back(std::move(trait));
    }
  }
  planned.gpus_used = plan.gpus();
  planned.gpus_idle = question.gpus - plan.gpus();
  planned.prefill = typical_prefill(plan.prefill, model.engine, load);
  const Users users = most_users_of(model, question, plan);
  planned.users_most = users.count;
  planned.users_end = users.end;
  return planned;
}

}  // namespace dure
