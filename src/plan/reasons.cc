// See reasons.h.
#include "plan/reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/units.h"

namespace dure {
namespace {

constexpr double worth_telling = 0.02;  // of a step

std::string rate(double tokens_per_s) {
  return fmt::format("{:.0f} tokens/s", tokens_per_s);
}

// What the objective is about.
std::string in_objective(const PlanQuestion& question, const Service& service) {
  if (question.objective == Objective::cost) {
    return fmt::format("{} a GPU and {} a request", rate(service.per_gpu),
                       format_seconds(service.request_seconds));
  }
  const bool quickest = question.objective == Objective::latency || question.rate > 0.0;
  return quickest ? format_seconds(service.request_seconds) + " a request"
                  : rate(service.tokens_per_s);
}

struct Share {
  Operation operation = Operation::launch;
  double of_step = 0.0;
  double seconds = 0.0;
  double total = 0.0;
};

Share exchange_share(const StepTime& time) {
  Share largest{Operation::tensor_exchange, 0.0, 0.0, time.total()};
  for (const Operation each :
       {Operation::tensor_exchange, Operation::expert_exchange, Operation::stage_exchange}) {
    if (time.of(each) > largest.seconds) {
      largest = {each, time.of(each) / time.total(), time.of(each), time.total()};
    }
  }
  return largest;
}

constexpr double exchange_is_why = 0.25;  // of a decode step

// Nothing where the exchanges stay inside nodes or take little of a step.
std::string crossing(const Ranked& ranked, const StepTime& time) {
  const Layout& layout = ranked.deployment.layout;
  const int inside = ranked.deployment.placement.ranks_per_node;
  const Share share = exchange_share(time);
  if (ranked.deployment.placement.nodes_each == 1 || share.of_step < exchange_is_why) return "";
  std::string what;
  if (share.operation == Operation::tensor_exchange && layout.tp > inside) {
    what = fmt::format("tp {} crosses nodes", layout.tp);
  } else if (share.operation == Operation::expert_exchange && layout.stage_ranks() > inside) {
    what = fmt::format("experts over {} ranks cross nodes", layout.stage_ranks());
  } else {
    return "";
  }
  return fmt::format("{}: {} take {:.0f}% of a decode step ({} of {})", what,
                     in_words(share.operation), 100.0 * share.of_step,
                     format_seconds(share.seconds), format_seconds(share.total));
}

// Seconds more than the best, or fewer, and of what: largest first, as far as it is worth telling.
std::vector<std::pair<double, Operation>> by_difference(const StepTime& of, const StepTime& best) {
  std::vector<std::pair<double, Operation>> all;
  for (size_t i = 0; i < operations_of_a_step; ++i) {
    const auto operation = static_cast<Operation>(i);
    const double seconds = of.of(operation) - best.of(operation);
    if (std::abs(seconds) >= worth_telling * best.total()) all.emplace_back(seconds, operation);
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::abs(a.first) > std::abs(b.first);
  });
  return all;
}

std::string instead(Operation operation, const StepTime& of, const StepTime& best) {
  return fmt::format("{} {} instead of {}", in_words(operation), format_seconds(of.of(operation)),
                     format_seconds(best.of(operation)));
}

// Empty where nothing does.
std::string costs_more(const StepTime& of, const StepTime& best, const char* step) {
  for (const auto& [seconds, operation] : by_difference(of, best)) {
    if (seconds > 0.0) return fmt::format("{}: {}", step, instead(operation, of, best));
  }
  return "";
}

}  // namespace

std::string in_short(const Layout& layout) {
  std::string text;
  for (const auto& [name, size] : {std::pair{"tp", layout.tp}, std::pair{"pp", layout.pp},
                                   std::pair{"dp", layout.dp}, std::pair{"ep", layout.ep}}) {
    if (size > 1) text += fmt::format("{}{} {}", text.empty() ? "" : " ", name, size);
  }
  return text.empty() ? "1 GPU" : text;
}

std::string replicas_text(const Layout& layout, int replicas) {
  return fmt::format("{} × ({})", replicas, in_short(layout));
}

std::string replicas_text(const PlannedLayout& planned) {
  if (!planned.pools) return replicas_text(planned.layout, planned.replicas);
  const PlannedPool& prefill = planned.pools->prefill;
  const PlannedPool& decode = planned.pools->decode;
  return fmt::format("{} → {}", replicas_text(prefill.layout, prefill.workers),
                     replicas_text(decode.layout, decode.workers));
}

const char* in_words(Operation operation) {
  constexpr std::array<const char*, operations_of_a_step> words = {"attention projections",
                                                                   "attention over the cache",
                                                                   "dense feed-forward",
                                                                   "experts",
                                                                   "sums over ranks",
                                                                   "experts' dispatch and combine",
                                                                   "transfers between stages",
                                                                   "output head",
                                                                   "launching"};
  return words[static_cast<size_t>(operation)];
}

RejectedLayout why_not(const PlanModel& model, const PlanQuestion& question, const Ranked& ranked,
                       const Ranked* best) {
  RejectedLayout rejected{ranked.deployment.layout, ranked.deployment.replicas, RejectedFor::slower,
                          ""};
  const PlannedLoad load = load_as_served(question, ranked.service);
  const StepTime time = typical_decode(ranked.deployment, model.engine, load).time;
  const std::string crosses = crossing(ranked, time);
  const std::string at_best = ranked.only_promised ? " at best" : "";
  if (!ranked.meets_limits) {
    const std::string miss = miss_of(question, ranked.service);
    rejected.why = miss.starts_with("TTFT")   ? RejectedFor::ttft
                   : miss.starts_with("TPOT") ? RejectedFor::tpot
                                              : RejectedFor::rate;
    rejected.reason = miss + at_best + (crosses.empty() ? "" : "; " + crosses);
    return rejected;
  }
  const std::string against =
      best == nullptr ? ""
                      : fmt::format(", the best gives {}", in_objective(question, best->service));
  const std::string gives = in_objective(question, ranked.service) + at_best + against;
  if (!crosses.empty()) rejected.why = RejectedFor::crosses_nodes;
  rejected.reason = crosses.empty() ? gives : crosses + "; " + gives;
  if (!crosses.empty() || best == nullptr) return rejected;
  const PlannedLoad of_best = load_as_served(question, best->service);
  const std::string decode = costs_more(
      time, typical_decode(best->deployment, model.engine, of_best).time, "a decode step");
  const std::string cost =
      !decode.empty()
          ? decode
          : costs_more(typical_prefill(ranked.deployment, model.engine, load).time,
                       typical_prefill(best->deployment, model.engine, of_best).time, "a prompt");
  if (!cost.empty()) rejected.reason += "; " + cost;
  return rejected;
}

std::vector<std::string> differences(const TypicalStep& of, const TypicalStep& best) {
  std::vector<std::string> lines;
  for (const auto& [seconds, operation] : by_difference(of.time, best.time)) {
    lines.push_back(instead(operation, of.time, best.time));
  }
  return lines;
}

}  // namespace dure
