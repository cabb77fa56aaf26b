// See plan.h: checks the question, searches, and says what was assumed.
#include "plan/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/units.h"
#include "cost/retype.h"
#include "plan/alternatives.h"
#include "plan/cache_room.h"
#include "plan/describe.h"
#include "plan/disaggregate.h"
#include "plan/pareto.h"
#include "plan/reasons.h"
#include "plan/rule_of_thumb.h"
#include "plan/unmeasured.h"

namespace dure {
namespace {

constexpr int most_gpus = 16'384;
constexpr int64_t most_in_flight = 1'000'000;
constexpr int64_t most_tokens = int64_t{1} << 30;

void check(const PlanQuestion& question) {
  const auto between = [](const char* flag, auto value, auto least, auto most) {
    if (value >= least && value <= most) return;
    throw_bad_input(fmt::format("--{} {}: must be from {} to {}", flag, value, least, most), "",
                    flag);
  };
  if (!question.gpu.speed) {
    throw_bad_input(
        fmt::format("--gpu {}: a size alone says nothing about speed", question.gpu.name),
        "name one of the catalogue (h100, h200, b200 …); `dure fit` takes a size", "gpu");
  }
  between("gpus", question.gpus, 1, most_gpus);
  between("gpus-per-node", question.gpus_per_node, 1, most_gpus);
  between("input", question.input, int64_t{1}, most_tokens);
  between("output", question.output, int64_t{1}, most_tokens);
  between("top", question.top, 1, 1000);
  if (question.concurrency == 0 && question.rate == 0.0) {
    throw_bad_input("no load: how many requests are in flight, or come each second?",
                    "give --concurrency N or --rate N", "concurrency");
  }
  if (question.concurrency != 0 && question.rate != 0.0) {
    throw_bad_input("--concurrency and --rate: both say the load",
                    "keep one: --concurrency for users who wait for their answers, --rate for "
                    "requests that come whatever happens",
                    "rate");
  }
  if (question.rate != 0.0) {
    between("rate", question.rate, 1e-6, 1e6);
    return;
  }
  between("concurrency", question.concurrency, int64_t{1}, most_in_flight);
}

std::vector<std::string> notes_of(const ModelSpec& spec, const PlanQuestion& question,
                                  const PlanAnswer& answer) {
  std::vector<std::string> notes = release_remarks(spec, question.weights);
  const int rest = question.gpus % question.gpus_per_node;
  if (rest != 0 && question.gpus > question.gpus_per_node) {
    notes.push_back(fmt::format(
        "{} GPUs are {} of {} a node and {} on one more: a replica lies within one of them or on "
        "whole "
        "equal ones, never on unequal shares",
        question.gpus, question.gpus / question.gpus_per_node, question.gpus_per_node, rest));
  }
  const bool takes_all = question.objective != Objective::cost;
  if (takes_all && !answer.ranked.empty() && answer.ranked.front().gpus_idle > 0) {
    const PlannedLayout& best = answer.ranked.front();
    notes.push_back(fmt::format("{} of {} GPUs are idle in the best plan: {} × {} ranks",
                                best.gpus_idle, question.gpus, best.replicas, best.layout.world()));
  }
  if (spec.context > 0 && question.input + question.output > spec.context) {
    notes.push_back(
        fmt::format("requests of {} tokens are longer than the {} that the model promises",
                    format_count(question.input + question.output), format_count(spec.context)));
  }
  if (!spec.planned_only.empty()) {
    notes.push_back("dure itself does not run this model: " + spec.planned_only);
  }
  return notes;
}

std::string in_words(const PlanQuestion& question) {
  if (question.rate == 0.0) {
    return fmt::format("closed, {} requests in flight", format_count(question.concurrency));
  }
  return fmt::format(
      "{:.2f} requests/s, as the fewest users who send one after another make them, "
      "without bursts",
      question.rate);
}

std::string engine_label(const PlanQuestion& question) {
  if (question.engine == Engine::dure) return "dure";
  return engine_profile(question.engine, question.engine_version, question.gpu.usable_bytes).label;
}

// Of a rank alone: some engines leave more to wider groups.
double utilization_of(const PlanQuestion& question) {
  return fit_question(question, Layout{}, KvFormat{}, 0, 1).utilization;
}

std::vector<std::string> assumptions_of(const PlanModel& model, const PlanQuestion& question) {
  const Gpu& gpu = question.gpu;
  const std::string weights = format_text(model.spec, question.weights);
  const auto band = [](const ErrorBand& b) {
    return fmt::format("{:.2f} to {:.2f} ×", b.low, b.high);
  };
  std::vector<std::string> assumptions = {
      fmt::format(
          "load: {}, lengths uniform within 11% of {} in and {} out, no shared prefixes, no "
          "speculative decoding; means over ten requests of each user, the first burst "
          "included",
          in_words(question), format_count(question.input), format_count(question.output)),
      fmt::format(
          "engine: scheduler and memory of {}; weights {}; {:.0f}% of {} usable of {} on {}",
          engine_label(question), weights, 100.0 * utilization_of(question),
          format_bytes(gpu.usable_bytes), format_decimal_bytes(gpu.nominal_bytes), gpu.name),
      fmt::format(
          "data sheet: {:.2f} TB/s memory, {:.0f} GB/s each way between the GPUs of a node, "
          "{:.0f} GB/s of each GPU between nodes; {} GPUs a node",
          gpu.speed->memory / 1e12, gpu.speed->link / 1e9, question.nic / 1e9,
          question.gpus_per_node),
      fmt::format("error bands: 8 of 10 measured values lie within {} TTFT and {} TPOT; {}",
                  band(model.engine.ttft), band(model.engine.tpot),
                  in_words(model.engine.measured)),
  };
  if (question.measured) assumptions.push_back(question.measured_says);
  return assumptions;
}

std::string verdict_of(const PlanQuestion& question, const PlanAnswer& answer) {
  if (answer.met) {
    const PlannedLayout& best = answer.ranked.front();
    if (best.pools) {
      return fmt::format(
          "best: {} × ({}) that prefill, {} × ({}) that decode: {:.0f} tokens/s, "
          "TTFT {}, TPOT {}",
          best.pools->prefill.workers, in_short(best.pools->prefill.layout),
          best.pools->decode.workers, in_short(best.pools->decode.layout),
          best.service.tokens_per_s, format_seconds(best.service.ttft),
          format_seconds(best.service.tpot));
    }
    return fmt::format("best: {} × ({}): {:.0f} tokens/s, TTFT {}, TPOT {}", best.replicas,
                       in_short(best.layout), best.service.tokens_per_s,
                       format_seconds(best.service.ttft), format_seconds(best.service.tpot));
  }
  if (answer.closest) {
    return fmt::format("no layout keeps the limits; the closest, {} × ({}): {}",
                       answer.closest->replicas, in_short(answer.closest->layout),
                       answer.closest->miss);
  }
  return fmt::format("no layout of {} × {} holds the model", question.gpus, question.gpu.name);
}

// Among the layouts, by the objective; where they miss the limits, in the notes.
void rank_pools(const PlanModel& model, const PlanQuestion& question, const Found& found,
                PlanAnswer& answer) {
  std::string why;
  const std::optional<PoolPlan> pools = best_pools(model, question, found.fits, why);
  if (!pools) {
    answer.notes.push_back(why);
    return;
  }
  if (!pools->meets_limits) {
    answer.notes.push_back(fmt::format(
        "pools miss the limits: {} × ({}) that prefill, {} × ({}) that decode: {}",
        pools->prefill.replicas, in_short(pools->prefill.layout), pools->decode.replicas,
        in_short(pools->decode.layout), miss_of(question, pools->service)));
    return;
  }
  const auto after = std::find_if(
      answer.ranked.begin(), answer.ranked.end(),
      [&](const PlannedLayout& each) { return score_of(question, each.service) < pools->score; });
  answer.ranked.insert(after, describe_pools(model, question, *pools));
}

}  // namespace

PlanAnswer plan(const ModelSpec& spec, const PlanQuestion& question, const PlanProgress& progress) {
  check(question);
  const PlanModel model(spec, question);
  Found found = search(model, question, progress);
  PlanAnswer answer;
  answer.weight_bytes = model.memory.all_weights();
  answer.layouts = found.layouts;
  answer.replays = found.replays;
  for (size_t i = 0; i < std::min<size_t>(question.top, found.ranked.size()); ++i) {
    answer.ranked.push_back(describe(model, question, found.ranked[i]));
  }
  if (question.disaggregate) rank_pools(model, question, found, answer);
  answer.met = !answer.ranked.empty();
  if (!answer.met && !found.missed.empty()) {
    answer.closest = describe(model, question, found.missed.front());
  }
  answer.points = pareto(model, question, found.fits);
  answer.rejected = std::move(found.rejected);
  const PlannedLayout* nearest = answer.met       ? &answer.ranked.front()
                                 : answer.closest ? &*answer.closest
                                                  : nullptr;
  answer.rule_of_thumb = rule_of_thumb(model, question, nearest);
  if (question.alternatives) answer.alternatives = alternatives_of(model, question, nearest);
  answer.verdict = verdict_of(question, answer);
  for (std::string& note : notes_of(spec, question, answer)) {
    answer.notes.push_back(std::move(note));
  }
  answer.remarks = release_remarks(spec, question.weights);
  answer.assumptions = assumptions_of(model, question);
  return answer;
}

}  // namespace dure
