// See alternatives.h.
#include "plan/alternatives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/units.h"
#include "cost/retype.h"
#include "model/presets.h"
#include "plan/adapters.h"
#include "plan/describe.h"
#include "plan/disaggregate.h"
#include "plan/reasons.h"

namespace dure {
namespace {

// The best of a question changed in one thing.
struct Outcome {
  std::optional<Ranked> best;
  std::string miss;  // where the best misses the limits
};

Outcome outcome_of(const PlanModel& model, PlanQuestion question) {
  question.top = 1;
  const Found found = search(model, question, {});
  if (!found.ranked.empty()) return {found.ranked.front(), ""};
  if (found.missed.empty()) return {};
  return {found.missed.front(), miss_of(question, found.missed.front().service)};
}

class Ways {
 public:
  Ways(const PlanModel& model, const PlanQuestion& question, const PlannedLayout* best)
      : model_(model), question_(question), best_(best) {}

  std::vector<Alternative> all() {
    other_weights();
    smaller_cache();
    shorter_requests();
    more_gpus();
    pools();
    smaller_model();
    cheaper_model_for_a_part();
    adapters();
    return std::move(ways_);
  }

 private:
  void does_not_apply(std::string title, std::string why) {
    ways_.push_back({std::move(title), false, std::move(why), {}, {}, 0, 0, false});
  }

  // "1 × (tp 8 …): 5,300 tokens/s (1.21 ×), TTFT …, TPOT …, at most 512 in flight"
  void tell(std::string title, const std::string& what, const PlanModel& model,
            const PlanQuestion& question) {
    const Outcome outcome = outcome_of(model, question);
    if (!outcome.best) {
      does_not_apply(std::move(title), what + ": still nothing fits");
      return;
    }
    const Deployment& deployment = outcome.best->deployment;
    const Service& service = outcome.best->service;
    Alternative way{std::move(title),
                    true,
                    "",
                    service,
                    deployment.layout,
                    deployment.gpus(),
                    most_users(model, question, deployment).count,
                    outcome.miss.empty()};
    way.text = fmt::format("{}: {} × ({}), {} tokens/s{}, TTFT {}, TPOT {}, at most {} in flight{}",
                           what, deployment.replicas, in_short(deployment.layout),
                           format_count(std::llround(service.tokens_per_s)), against_best(service),
                           format_seconds(service.ttft), format_seconds(service.tpot),
                           format_count(way.users_most),
                           outcome.miss.empty() ? "" : "; still " + outcome.miss);
    ways_.push_back(std::move(way));
  }

  std::string against_best(const Service& service) const {
    if (best_ == nullptr) return "";
    return fmt::format(" ({:.2f} ×)", service.tokens_per_s / best_->service.tokens_per_s);
  }

  double bits_of_weights() const {
    if (question_.weights) return question_.weights->bits_per_weight;
    return 8.0 * static_cast<double>(bytes_of(model_.spec.dtype));
  }

  void other_weights() {
    const bool multiplies_fp4 = question_.gpu.speed->fp4 > question_.gpu.speed->fp8;
    const char* four_bits = multiplies_fp4 ? "nvfp4" : "int4";
    for (const char* name : {"fp8", four_bits}) {
      const WeightFormat format = find_weight_format(name);
      const std::string title = fmt::format("weights as {}", name);
      // Scales alone make no other format.
      if (format.bits_per_weight >= std::floor(bits_of_weights())) {
        does_not_apply(title,
                       fmt::format("they are stored in {:.3g} bits already", bits_of_weights()));
        continue;
      }
      PlanQuestion other = question_;
      other.weights = format;
      const PlanModel retyped(model_.spec, other);
      tell(title, format_decimal_bytes(retyped.memory.all_weights()), retyped, other);
    }
  }

  void smaller_cache() {
    const bool is_fp8 = std::all_of(question_.kv_formats.begin(), question_.kv_formats.end(),
                                    [](const KvFormat& kv) { return kv.bytes == 1; });
    if (is_fp8) {
      does_not_apply("FP8 cache", "it is in fp8 already");
      return;
    }
    PlanQuestion other = question_;
    other.kv_formats = {KvFormat{"fp8", 1}};
    tell("FP8 cache", "half the bytes of each cached token", model_, other);
  }

  void shorter_requests() {
    const int64_t length = question_.input + question_.output;
    if (best_ != nullptr && best_->meets_limits) {
      does_not_apply("shorter context", fmt::format("requests of {} tokens fit and keep the limits",
                                                    format_count(length)));
      return;
    }
    if (question_.input < 2) {
      does_not_apply("shorter context", "prompts are of one token");
      return;
    }
    PlanQuestion other = question_;
    other.input = question_.input / 2;
    tell("shorter context", fmt::format("prompts of {} tokens", format_count(other.input)), model_,
         other);
  }

  // The least that fits and keeps the limits; where these do, twice as many.
  void more_gpus() {
    constexpr int most_times = 64;
    PlanQuestion other = question_;
    const bool met = best_ != nullptr && best_->meets_limits;
    for (int times = 2; times <= most_times; times *= 2) {
      other.gpus = question_.gpus * times;
      if (other.gpus > question_.gpus_per_node) {
        const int node = question_.gpus_per_node;
        other.gpus = (other.gpus + node - 1) / node * node;
      }
      const Outcome outcome = outcome_of(model_, other);
      if (met || (outcome.best && outcome.miss.empty())) {
        tell("more GPUs", fmt::format("{} × {}", other.gpus, question_.gpu.name), model_, other);
        return;
      }
    }
    does_not_apply("more GPUs", fmt::format("{} × {} do not keep the limits either", other.gpus,
                                            question_.gpu.name));
  }

  void pools() {
    const char* title = "prefill and decode apart";
    if (best_ != nullptr && best_->pools) {
      does_not_apply(title, "they are in the best plan");
      return;
    }
    std::string why;
    const auto plan = best_pools(model_, question_, search(model_, question_, {}).fits, why);
    if (!plan) {
      does_not_apply(title, why);
      return;
    }
    const Service& service = plan->service;
    const std::string miss = miss_of(question_, service);
    Alternative way{title, true, "", service, plan->decode.layout, plan->gpus(), 0, miss.empty()};
    way.text = fmt::format(
        "{} × ({}) that prefill, {} × ({}) that decode: {} tokens/s{}, TTFT {}, TPOT {}{}",
        plan->prefill.replicas, in_short(plan->prefill.layout), plan->decode.replicas,
        in_short(plan->decode.layout), format_count(std::llround(service.tokens_per_s)),
        against_best(service), format_seconds(service.ttft), format_seconds(service.tpot),
        miss.empty() ? "" : "; " + miss);
    ways_.push_back(std::move(way));
  }

  // Names of one family begin alike: qwen3_moe and qwen3, deepseek_v3 and deepseek_v32.
  static std::string brand_of(const ModelSpec& spec) {
    return spec.family.substr(0, spec.family.find('_'));
  }

  struct Smaller {
    std::string name;
    ModelSpec spec;
    int64_t weights = 0;  // bytes, as released
  };

  // The largest released of the same kind, or else of the family, with at most half the weights.
  std::optional<Smaller> next_smaller() const {
    std::optional<Smaller> found =
        largest_of([&](const ModelSpec& spec) { return spec.family == model_.spec.family; });
    if (found) return found;
    return largest_of(
        [&](const ModelSpec& spec) { return brand_of(spec) == brand_of(model_.spec); });
  }

  template <typename IsOne>
  std::optional<Smaller> largest_of(IsOne is_one) const {
    std::optional<Smaller> found;
    const int64_t bound = model_.memory.all_weights() / 2;
    for (const Preset& preset : presets()) {
      Smaller smaller{std::string(preset.name), spec_of(preset), 0};
      if (!is_one(smaller.spec)) continue;
      const std::optional<WeightFormat> format = retype(smaller.spec, "");
      smaller.weights = MemoryModel(smaller.spec, format).all_weights();
      if (smaller.weights > bound || (found && smaller.weights <= found->weights)) continue;
      found = std::move(smaller);
    }
    return found;
  }

  static PlanQuestion question_about(Smaller& smaller, PlanQuestion question) {
    question.weights = retype(smaller.spec, "");
    return question;
  }

  void smaller_model() {
    const char* title = "a smaller model of the family";
    smaller_ = next_smaller();
    if (!smaller_) {
      does_not_apply(title, fmt::format("none of {} with half the weights or less is known here",
                                        brand_of(model_.spec)));
      return;
    }
    const PlanQuestion other = question_about(*smaller_, question_);
    tell(title,
         fmt::format("{} ({}), whose answers are another model's", smaller_->name,
                     format_decimal_bytes(smaller_->weights)),
         PlanModel(smaller_->spec, other), other);
  }

  // Half the requests to the smaller model, on a part of the GPUs.
  void cheaper_model_for_a_part() {
    const char* title = "a cheaper model for half the requests";
    if (!smaller_ || question_.gpus < 2 || question_.concurrency == 1) {
      does_not_apply(title, smaller_ ? "there is one GPU, or one request, to share out"
                                     : "no smaller model of the family is known here");
      return;
    }
    PlanQuestion small = question_about(*smaller_, question_);
    PlanQuestion large = question_;
    small.concurrency = question_.concurrency / 2;
    large.concurrency = question_.concurrency - small.concurrency;
    small.rate = large.rate = question_.rate / 2.0;
    const PlanModel small_model(smaller_->spec, small);
    std::optional<std::pair<Outcome, Outcome>> best;
    for (int part = 2; part <= 8 && question_.gpus / part > 0; part *= 2) {
      small.gpus = question_.gpus / part;
      large.gpus = question_.gpus - small.gpus;
      std::pair<Outcome, Outcome> both{outcome_of(model_, large), outcome_of(small_model, small)};
      if (!both.first.best || !both.second.best) continue;
      const auto tokens = [](const std::pair<Outcome, Outcome>& of) {
        return of.first.best->service.tokens_per_s + of.second.best->service.tokens_per_s;
      };
      if (!best || tokens(both) > tokens(*best)) best = std::move(both);
    }
    if (!best) {
      does_not_apply(title, fmt::format("{} and {} do not fit side by side on {} GPUs",
                                        question_.model, smaller_->name, question_.gpus));
      return;
    }
    tell_split(title, *best);
  }

  void tell_split(const char* title, const std::pair<Outcome, Outcome>& both) {
    const Ranked& large = *both.first.best;
    const Ranked& small = *both.second.best;
    Service sum = large.service;
    sum.tokens_per_s += small.service.tokens_per_s;
    sum.users += small.service.users;
    const int gpus = large.deployment.gpus() + small.deployment.gpus();
    sum.per_gpu = sum.tokens_per_s / gpus;
    Alternative way{title,
                    true,
                    "",
                    sum,
                    large.deployment.layout,
                    gpus,
                    0,
                    both.first.miss.empty() && both.second.miss.empty()};
    way.text = fmt::format(
        "{} on {} of the GPUs (TPOT {}) beside {} on {} (TPOT {}): {} tokens/s{} if half the "
        "requests suit it",
        question_.model, large.deployment.gpus(), format_seconds(large.service.tpot),
        smaller_->name, small.deployment.gpus(), format_seconds(small.service.tpot),
        format_count(std::llround(sum.tokens_per_s)), against_best(sum));
    ways_.push_back(std::move(way));
  }

  void adapters() {
    const char* title = "adapters over one base";
    if (best_ == nullptr) {
      does_not_apply(title, "they need the base model's memory, which is not there");
      return;
    }
    const AdapterRoom room = adapter_room(model_, *best_);
    Alternative way{title, true, "", {}, best_->layout, best_->gpus_used, 0, best_->meets_limits};
    way.text = fmt::format(
        "fine-tuned copies take {} GPUs each, adapters of rank {} on attention {} a rank each: "
        "{} of them fit beside this load",
        best_->layout.world(), adapter_rank, format_bytes(room.bytes_each),
        format_count(room.count));
    ways_.push_back(std::move(way));
  }

  const PlanModel& model_;
  const PlanQuestion& question_;
  const PlannedLayout* best_;
  std::optional<Smaller> smaller_;
  std::vector<Alternative> ways_;
};

}  // namespace

std::vector<Alternative> alternatives_of(const PlanModel& model, const PlanQuestion& question,
                                         const PlannedLayout* best) {
  return Ways(model, question, best).all();
}

}  // namespace dure
