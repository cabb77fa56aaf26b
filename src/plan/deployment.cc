// See deployment.h.
#include "plan/deployment.h"

#include <algorithm>
#include <cmath>

#include "cost/users.h"

namespace dure {
namespace {

// A load generator that draws lengths from 80% to 100% of a nominal one, as public measurements do:
// its mean is 90%.
constexpr double shortest = 0.8;
constexpr double mean_of_nominal = 0.9;
constexpr int requests_each = 10;
constexpr int64_t requests_replayed = 40'960;
constexpr double certain = 1.05;  // of a best case: lengths vary, and runs begin and end

int64_t nominal(int64_t mean) {
  return std::llround(static_cast<double>(mean) / mean_of_nominal);
}

// Of `waves` requests one after the other for each user; fewer where there are very many users.
int waves(int64_t concurrency) {
  return static_cast<int>(
      std::clamp<int64_t>(requests_replayed / std::max<int64_t>(concurrency, 1), 2, requests_each));
}

StepLoad decode_load(int64_t sequences, const PlannedLoad& load) {
  StepLoad step;
  step.decodes = static_cast<double>(sequences);
  step.decode_keys =
      step.decodes * (static_cast<double>(load.input) + 0.5 * static_cast<double>(load.output));
  return step;
}

StepLoad prompt_load(double tokens, double length) {
  StepLoad step;
  step.prefill_tokens = tokens;
  step.prefill_pairs = tokens * 0.5 * std::min(tokens, length);
  step.prompts = step.prompts_done = std::max(1.0, tokens / length);
  return step;
}

}  // namespace

void complete(Service& service, int gpus, const PlannedLoad& load) {
  const auto output = static_cast<double>(load.output);
  service.per_gpu = service.tokens_per_s / gpus;
  const bool decodes = service.tpot > 0.0;
  service.per_user = decodes ? 1.0 / service.tpot : 0.0;
  service.users = decodes ? concurrent_users(service.tokens_per_s, service.per_user) : 0.0;
  service.requests_per_s = service.tokens_per_s / output;
  service.request_seconds = service.ttft + (output - 1.0) * service.tpot;
  service.in_flight = static_cast<double>(load.concurrency);
}

ClosedLoad closed_load(const PlannedLoad& load, int64_t concurrency) {
  return {static_cast<int>(concurrency), nominal(load.input), nominal(load.output), shortest,
          waves(concurrency)};
}

int64_t sequences_at_once(const Deployment& deployment, int64_t concurrency) {
  const int64_t groups = deployment.groups();
  const int64_t busiest = (concurrency + groups - 1) / groups;
  return std::min({busiest, deployment.batch, deployment.room.sequences});
}

namespace {

Service serve_rate(const Deployment& deployment, const ServingProfile& engine,
                   const PlannedLoad& load) {
  const auto with = [&](int64_t each) {
    return serve(deployment, engine, {load.input, load.output, each * deployment.groups(), 0.0});
  };
  int64_t keeps_up = std::min(deployment.batch, deployment.room.sequences);
  Service service = with(keeps_up);
  if (service.requests_per_s < load.rate) return service;
  for (int64_t too_few = 0; keeps_up - too_few > 1;) {
    // From below: few are quick to replay.
    const int64_t each = too_few == 0 && keeps_up > 8 ? keeps_up / 8 : (too_few + keeps_up) / 2;
    const Service tried = with(each);
    if (tried.requests_per_s < load.rate) {
      too_few = each;
    } else {
      keeps_up = each;
      service = tried;
    }
  }
  const double in_flight = service.in_flight;
  service.tokens_per_s = load.rate * static_cast<double>(load.output);
  complete(service, deployment.gpus(), load);
  service.in_flight = in_flight;
  return service;
}

}  // namespace

Service serve(const Deployment& deployment, const ServingProfile& engine, const PlannedLoad& load) {
  if (load.rate > 0.0) return serve_rate(deployment, engine, load);
  EngineModel model = engine.scheduling;
  model.budget = deployment.chunk;
  model.cache_tokens = static_cast<double>(std::min(deployment.batch, deployment.room.sequences)) *
                       static_cast<double>(load.input + load.output);
  const int64_t groups = deployment.groups();
  const int64_t each = load.concurrency / groups;
  const int64_t with_one_more = load.concurrency % groups;
  Service sum;
  const auto add = [&](int64_t concurrency, int64_t count) {
    if (concurrency == 0 || count == 0) return;
    const ServedMeans means = replay(deployment.work, deployment.hardware, engine.constants, model,
                                     {static_cast<int>(concurrency), nominal(load.input),
                                      nominal(load.output), shortest, waves(concurrency)});
    const double tokens_per_s = means.tokens_per_s * static_cast<double>(count);
    sum.tokens_per_s += tokens_per_s;
    sum.ttft += means.ttft * tokens_per_s;
    sum.tpot += means.tpot * tokens_per_s;
  };
  add(each, groups - with_one_more);
  add(each + 1, with_one_more);
  sum.ttft /= sum.tokens_per_s;
  sum.tpot /= sum.tokens_per_s;
  complete(sum, deployment.gpus(), load);
  return sum;
}

Service best_case(const Deployment& deployment, const ServingProfile& engine,
                  const PlannedLoad& load) {
  const auto seconds = [&](const StepLoad& step) {
    return step_time(deployment.work, deployment.hardware, engine.constants, step).total();
  };
  const auto input = static_cast<double>(load.input);
  const auto output = static_cast<double>(load.output);
  const int64_t in_flight =
      load.rate > 0.0 ? deployment.groups() * deployment.batch : load.concurrency;
  const int64_t sequences = sequences_at_once(deployment, in_flight);
  // One token for each, and the share of prompts that comes with it, in full chunks: what a chunk
  // adds to a step of decodes, or what it takes in steps of its own.
  const StepLoad decodes = decode_load(sequences, load);
  const bool whole = engine.scheduling.policy == StepPolicy::whole_prompts;
  const double chunk = std::max(static_cast<double>(deployment.chunk), whole ? input : 1.0);
  StepLoad prompts = prompt_load(chunk, input);
  const double stages = deployment.layout.pp;
  prompts.prompts = std::max(prompts.prompts, stages);
  double apart = 0.0;
  if (engine.scheduling.policy != StepPolicy::prompts_first) {
    prompts.decodes = decodes.decodes;
    prompts.decode_keys = decodes.decode_keys;
    apart = seconds(decodes);
  }
  const auto at_once = static_cast<double>(sequences);
  const double round =
      seconds(decodes) + at_once * input / output * (seconds(prompts) - apart) / chunk;
  const int64_t busy = std::min<int64_t>(deployment.groups(), in_flight);
  Service best;
  best.tokens_per_s = certain * static_cast<double>(busy) * at_once / round;
  if (load.rate > 0.0) best.tokens_per_s = std::min(best.tokens_per_s, load.rate * output);
  best.tpot = seconds(decode_load(1, load)) / certain;
  // The shortest prompts take least, and least where all stages work at once.
  StepLoad shortest_prompt = prompt_load(mean_of_nominal * input, input);
  shortest_prompt.prompts = stages;
  best.ttft = seconds(shortest_prompt) / certain;
  complete(best, deployment.gpus(), load);
  return best;
}

TypicalStep typical_decode(const Deployment& deployment, const ServingProfile& engine,
                           const PlannedLoad& load) {
  const StepLoad step = decode_load(sequences_at_once(deployment, load.concurrency), load);
  return {step, step_time(deployment.work, deployment.hardware, engine.constants, step)};
}

TypicalStep typical_prefill(const Deployment& deployment, const ServingProfile& engine,
                            const PlannedLoad& load) {
  const auto input = static_cast<double>(load.input);
  const StepLoad step = prompt_load(std::min(static_cast<double>(deployment.chunk), input), input);
  return {step, step_time(deployment.work, deployment.hardware, engine.constants, step)};
}

}  // namespace dure
