// See search.h.
#include "plan/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "plan/numbers.h"
#include "plan/reasons.h"

namespace dure {
namespace {

constexpr int64_t other_chunks[] = {2048, 4096, 8192, 16384};
constexpr int64_t most_sequences_at_once = 1024;  // of a dp rank: engines' own bound
constexpr size_t refined = 8;                     // layouts tried with other chunks

class Search {
 public:
  Search(const PlanModel& model, const PlanQuestion& question, const PlanProgress& progress)
      : model_(model), question_(question), load_(load_of(question)), progress_(progress) {}

  Found run() {
    list(false);
    if (found_.fits.empty()) {
      found_.rejected.clear();
      found_.layouts = 0;
      list(true);
    }
    replay_all();
    refine();
    smaller_batches();
    if (found_.ranked.empty()) replay_the_nearest();
    sort();
    if (question_.engine == Engine::dure) ask_the_scheduler();
    explain_the_rest();
    return std::move(found_);
  }

 private:
  // Memory of every layout.
  void list(bool every_size) {
    const auto layouts = candidate_layouts(model_.spec, question_.gpus, every_size);
    found_.layouts = static_cast<int64_t>(layouts.size());
    for (const Layout& layout : layouts) {
      RejectedLayout why;
      bool fits = false;
      for (const KvFormat& kv : question_.kv_formats) {
        for (const int64_t chunk : {usual_chunk(question_), smallest_chunk}) {
          auto deployment = deployment_of(model_, question_, layout, kv, chunk, why);
          if (!deployment) continue;
          fits = true;
          found_.fits.push_back(std::move(*deployment));
          break;
        }
      }
      if (!fits) found_.rejected.push_back(std::move(why));
    }
  }

  // Best promises first, so that the bar is high for the rest.
  void replay_all() {
    std::vector<Ranked> promised;
    for (const Deployment& deployment : found_.fits) promised.push_back(promise_of(deployment));
    std::stable_sort(promised.begin(), promised.end(),
                     [](const Ranked& a, const Ranked& b) { return a.score > b.score; });
    int64_t done = 0;
    for (const Ranked& each : promised) {
      if (progress_) progress_(done++, static_cast<int64_t>(promised.size()));
      if (!each.meets_limits) {
        found_.missed.push_back(each);
      } else if (each.score < bar()) {
        slower_.push_back(each);
      } else {
        try_out(each.deployment);
      }
    }
  }

  Ranked promise_of(const Deployment& deployment) const {
    Ranked promised{deployment, best_case(deployment, model_.engine, load_), true, 0.0, true};
    promised.meets_limits = miss_of(question_, promised.service).empty();
    promised.score = score_of(question_, promised.service);
    if (question_.objective == Objective::cost) {
      Deployment one = deployment;
      one.replicas = 1;
      promised.score = best_case(one, model_.engine, load_).per_gpu;
    }
    return promised;
  }

  // What a layout must reach to be ranked.
  double bar() const {
    if (found_.ranked.size() < static_cast<size_t>(question_.top)) return -1e300;
    return bar_;
  }

  void raise_bar() {
    std::vector<double> scores;
    for (const Ranked& each : found_.ranked) scores.push_back(each.score);
    const auto top = static_cast<ptrdiff_t>(question_.top);
    if (static_cast<ptrdiff_t>(scores.size()) < top) return;
    std::nth_element(scores.begin(), scores.begin() + (top - 1), scores.end(), std::greater<>());
    bar_ = scores[static_cast<size_t>(top - 1)];
  }

  Ranked served(const Deployment& deployment) { return served(deployment, model_.engine); }

  Ranked served(const Deployment& deployment, const ServingProfile& engine) {
    Ranked ranked{deployment, serve(deployment, engine, load_), true, 0.0, false};
    ++found_.replays;
    ranked.meets_limits = miss_of(question_, ranked.service).empty();
    ranked.score = score_of(question_, ranked.service);
    return ranked;
  }

  void try_out(const Deployment& deployment) {
    Ranked ranked = served(deployment);
    if (question_.objective == Objective::cost) ranked = with_fewest_gpus(ranked);
    keep(std::move(ranked));
  }

  void keep(Ranked ranked) {
    if (!ranked.meets_limits) {
      found_.missed.push_back(std::move(ranked));
      return;
    }
    const auto same = std::find_if(
        found_.ranked.begin(), found_.ranked.end(),
        [&](const Ranked& r) { return r.deployment.layout == ranked.deployment.layout; });
    if (same == found_.ranked.end()) {
      found_.ranked.push_back(std::move(ranked));
    } else if (ranked.score > same->score) {
      *same = std::move(ranked);
    }
    raise_bar();
  }

  // Replicas that the limits do not need cost without giving.
  Ranked with_fewest_gpus(const Ranked& all) {
    if (!all.meets_limits) return all;
    int enough = all.deployment.replicas;
    int too_few = 0;
    Ranked best = all;
    while (enough - too_few > 1) {
      Deployment fewer = all.deployment;
      fewer.replicas = (enough + too_few) / 2;
      Ranked ranked = served(fewer);
      if (ranked.meets_limits) {
        enough = fewer.replicas;
        if (ranked.score > best.score) best = std::move(ranked);
      } else {
        too_few = fewer.replicas;
      }
    }
    return best;
  }

  // Smaller chunks let decodes wait less, larger ones take prompts faster.
  void refine() {
    sort();
    std::vector<Deployment> first;
    for (size_t i = 0; i < std::min(refined, found_.ranked.size()); ++i) {
      first.push_back(found_.ranked[i].deployment);
    }
    for (size_t i = 0; i < std::min(refined, found_.missed.size()); ++i) {
      first.push_back(found_.missed[i].deployment);
    }
    for (const Deployment& deployment : first) {
      for (const int64_t chunk : other_chunks) {
        if (chunk == deployment.chunk) continue;
        RejectedLayout why;
        auto other = deployment_of(model_, question_, deployment.layout, deployment.kv, chunk, why);
        if (!other) continue;
        other->replicas = deployment.replicas;
        keep(served(*other));
      }
    }
  }

  // Where layouts that would give more decode too slowly with all sequences at once, some may wait
  // instead. What waits only makes a request longer.
  void smaller_batches() {
    if (question_.tpot_limit <= 0.0 || question_.rate > 0.0) return;
    if (question_.objective == Objective::latency && !found_.ranked.empty()) return;
    std::vector<Deployment> first;
    for (const Ranked& ranked : found_.missed) {
      const bool too_slow = !ranked.only_promised && ranked.service.tpot > question_.tpot_limit;
      if (first.size() < refined && too_slow && ranked.score > bar()) {
        first.push_back(ranked.deployment);
      }
    }
    for (Deployment& deployment : first) {
      int64_t fits = 0;
      int64_t too_many = sequences_at_once(deployment, load_.concurrency);
      while (too_many - fits > 1) {
        deployment.batch = (fits + too_many) / 2;
        Ranked ranked = served(deployment);
        const bool fast = ranked.service.tpot <= question_.tpot_limit;
        (fast ? fits : too_many) = deployment.batch;
        if (fast) keep(std::move(ranked));
      }
    }
  }

  // A miss that was only promised is worse in truth.
  void replay_the_nearest() {
    for (sort(); !found_.missed.empty() && found_.missed.front().only_promised; sort()) {
      found_.missed.front() = served(found_.missed.front().deployment);
    }
  }

  // The layouts that will be shown, replayed on the scheduler that runs instead of the quick model
  // of it that the search asked.
  void ask_the_scheduler() {
    ServingProfile running = model_.engine;
    running.scheduling.policy = StepPolicy::dure;
    const auto shown = found_.ranked.begin() + static_cast<ptrdiff_t>(std::min<size_t>(
                                                   question_.top, found_.ranked.size()));
    const std::vector<Ranked> asked(found_.ranked.begin(), shown);
    found_.ranked.erase(found_.ranked.begin(), shown);
    for (const Ranked& ranked : asked) keep(served(ranked.deployment, running));
    sort();
  }

  void sort() {
    std::stable_sort(found_.ranked.begin(), found_.ranked.end(),
                     [](const Ranked& a, const Ranked& b) {
                       // Of equally good ones the quicker.
                       if (a.score != b.score) return a.score > b.score;
                       return a.service.request_seconds < b.service.request_seconds;
                     });
    std::stable_sort(found_.missed.begin(), found_.missed.end(),
                     [&](const Ranked& a, const Ranked& b) {
                       return excess(question_, a.service) < excess(question_, b.service);
                     });
  }

  bool is_ranked(const Layout& layout) const {
    const auto end = found_.ranked.begin() +
                     static_cast<ptrdiff_t>(std::min<size_t>(question_.top, found_.ranked.size()));
    return std::any_of(found_.ranked.begin(), end,
                       [&](const Ranked& r) { return r.deployment.layout == layout; });
  }

  // Of every layout that is not ranked, once.
  void explain_the_rest() {
    std::vector<Layout> told;
    for (const std::vector<Ranked>* list : {&found_.ranked, &slower_, &found_.missed}) {
      for (const Ranked& ranked : *list) {
        const Layout& layout = ranked.deployment.layout;
        if (is_ranked(layout) || std::find(told.begin(), told.end(), layout) != told.end())
          continue;
        told.push_back(layout);
        found_.rejected.push_back(why_not(
            model_, question_, ranked, found_.ranked.empty() ? nullptr : &found_.ranked.front()));
      }
    }
  }

  const PlanModel& model_;
  const PlanQuestion& question_;
  PlannedLoad load_;
  const PlanProgress& progress_;
  Found found_;
  std::vector<Ranked> slower_;  // by their promise
  double bar_ = 0.0;
};

}  // namespace

PlanModel::PlanModel(const ModelSpec& of, const PlanQuestion& question)
    : spec(of),
      memory(of, question.weights),
      work(of),
      numbers(numbers_of(of, question.weights)),
      engine(question.measured.value_or(serving_profile(question.engine))) {}

PlannedLoad load_of(const PlanQuestion& question) {
  return {question.input, question.output, question.concurrency, question.rate};
}

PlanQuestion in_flight(PlanQuestion question, int64_t concurrency) {
  question.rate = 0.0;
  question.concurrency = concurrency;
  return question;
}

PlannedLoad load_as_served(const PlanQuestion& question, const Service& service) {
  return {question.input, question.output, std::max<int64_t>(1, std::llround(service.in_flight)),
          0.0};
}

double score_of(const PlanQuestion& question, const Service& service) {
  if (question.objective == Objective::cost) return service.per_gpu;
  const bool quickest = question.objective == Objective::latency || question.rate > 0.0;
  return quickest ? -service.request_seconds : service.tokens_per_s;
}

double excess(const PlanQuestion& question, const Service& service) {
  double most = 1.0;
  if (question.ttft_limit > 0.0) most = std::max(most, service.ttft / question.ttft_limit);
  if (question.tpot_limit > 0.0) most = std::max(most, service.tpot / question.tpot_limit);
  if (question.rate > 0.0) most = std::max(most, question.rate / service.requests_per_s);
  return most;
}

std::string miss_of(const PlanQuestion& question, const Service& service) {
  const auto over = [](const char* what, double seconds, double limit) {
    return fmt::format("{} {} above the limit of {}", what, format_seconds(seconds),
                       format_seconds(limit));
  };
  if (question.rate > 0.0 && service.requests_per_s < 0.999 * question.rate) {
    return fmt::format("serves {:.2f} of {:.2f} requests/s", service.requests_per_s, question.rate);
  }
  if (question.tpot_limit > 0.0 && service.tpot > question.tpot_limit) {
    return over("TPOT", service.tpot, question.tpot_limit);
  }
  if (question.ttft_limit > 0.0 && service.ttft > question.ttft_limit) {
    return over("TTFT", service.ttft, question.ttft_limit);
  }
  return "";
}

std::optional<Deployment> deployment_of(const PlanModel& model, const PlanQuestion& question,
                                        const Layout& layout, const KvFormat& kv, int64_t chunk,
                                        RejectedLayout& why) {
  why.layout = layout;
  Deployment deployment;
  deployment.placement = place(layout, question.gpus, question.gpus_per_node);
  why.replicas = deployment.placement.replicas;
  if (deployment.placement.replicas == 0) {
    why.why = RejectedFor::placement;
    why.reason = deployment.placement.why;
    return std::nullopt;
  }
  if (const auto refused = engine_refuses(model.spec, layout, question.engine, question.weights)) {
    why.why = RejectedFor::engine;
    why.reason = *refused;
    return std::nullopt;
  }
  const FitQuestion fit = fit_question(question, layout, kv, chunk, layout.dp);
  deployment.room = room_of(model.memory, fit);
  if (!deployment.room.fits()) {
    why.why = RejectedFor::does_not_fit;
    why.reason = why_it_does_not_fit(deployment.room);
    return std::nullopt;
  }
  deployment.layout = layout;
  deployment.replicas = deployment.placement.replicas;
  deployment.kv = kv;
  deployment.chunk = chunk;
  deployment.batch = most_sequences_at_once;
  Numbers numbers = model.numbers;
  numbers.cache_bytes = static_cast<double>(kv.bytes);
  deployment.work = model.work.of(layout, numbers);
  deployment.hardware = {*question.gpu.speed, deployment.placement.ranks_per_node, question.nic};
  return deployment;
}

Found search(const PlanModel& model, const PlanQuestion& question, const PlanProgress& progress) {
  return Search(model, question, progress).run();
}

}  // namespace dure
