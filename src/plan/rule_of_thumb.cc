// See rule_of_thumb.h.
#include "plan/rule_of_thumb.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/describe.h"
#include "plan/reasons.h"

namespace dure {
namespace {

std::string ratio(double of, double best) {
  return fmt::format("{:.2f} ×", best > 0.0 ? of / best : 0.0);
}

}  // namespace

RuleOfThumb rule_of_thumb(const PlanModel& model, const PlanQuestion& question,
                          const PlannedLayout* best) {
  RuleOfThumb rule;
  const int tp = std::min(question.gpus_per_node, question.gpus);
  rule.layout = {tp, std::max(1, question.gpus / tp), 1, 1};
  const KvFormat& kv = best != nullptr ? best->kv : question.kv_formats.front();
  RejectedLayout why;
  auto deployment = deployment_of(model, question, rule.layout, kv, usual_chunk(question), why);
  if (!deployment && why.why == RejectedFor::engine && has_experts(model.spec)) {
    rule.layout.ep = tp;  // what people turn on then
    deployment = deployment_of(model, question, rule.layout, kv, usual_chunk(question), why);
  }
  if (!deployment) {
    rule.why = why.reason;
    return rule;
  }
  Ranked ranked{*deployment, serve(*deployment, model.engine, load_of(question)), true, 0.0, false};
  rule.planned = describe(model, question, ranked);
  if (best == nullptr) return rule;
  if (best->layout == rule.layout && best->replicas == rule.planned->replicas) {
    rule.why = best->meets_limits ? "it is the best one here" : "it is what comes closest";
    return rule;
  }
  const Service& service = rule.planned->service;
  rule.why =
      fmt::format("{} the best one's tokens/s, {} its TTFT, {} its TPOT",
                  ratio(service.tokens_per_s, best->service.tokens_per_s),
                  ratio(service.ttft, best->service.ttft), ratio(service.tpot, best->service.tpot));
  rule.difference = differences(rule.planned->decode, best->decode);
  return rule;
}

}  // namespace dure
