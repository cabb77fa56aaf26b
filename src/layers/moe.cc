// See moe.h.
#include "layers/moe.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "layers/mlp.h"

namespace dure {
namespace {

RouteShape shape_of(const MoeFfn& moe) {
  const RouterSpec& router = moe.router;
  RouteShape shape;
  shape.experts = moe.experts;
  shape.top_k = moe.top_k;
  switch (router.score) {
    case RouterScore::softmax:
      shape.score = RouteShape::Score::softmax;
      break;
    case RouterScore::sigmoid:
      shape.score = RouteShape::Score::sigmoid;
      break;
    case RouterScore::sqrt_softplus:
      shape.score = RouteShape::Score::sqrt_softplus;
      break;
  }
  shape.normalize = router.normalize;
  shape.epsilon = static_cast<float>(router.epsilon);
  shape.scale = static_cast<float>(router.scale);
  shape.groups = router.groups.count;
  shape.kept_groups = router.groups.kept;
  shape.group_rank =
      router.groups.by_best_two ? RouteShape::GroupRank::best_two : RouteShape::GroupRank::best;
  return shape;
}

}  // namespace

Moe::Moe(const Runtime& runtime, const MoeFfn& spec, const MoeWeights& weights)
    : spec_(spec), weights_(weights), exchange_(runtime, spec) {
  DURE_CHECK(!spec.shared || !spec.beside);  // they share a buffer
  counts_.computed.assign(static_cast<size_t>(experts().size()), 0);
}

SlotCounts Moe::route(const Runtime& runtime, const float* x, int64_t rows, int32_t* ids,
                      float* weights) const {
  float* logits = runtime.workspace.floats(StepBuffer::router);
  // Never rounded: a choice that flips costs more than the product (see cost/resident.cc).
  runtime.backend.matmul(x, rows, weights_.router, data_or_null(weights_.router_bias),
                         Compute::fp32, logits);
  runtime.backend.route(logits, data_or_null(weights_.correction), rows, shape_of(spec_), ids,
                        weights);
  SlotCounts counts;
  if (runtime.capacity.bounded()) counts = bound_slots(runtime, logits, rows, ids, weights);
  if (spec_.router.expert_scale) {
    for (int64_t i = 0; i < rows * spec_.top_k; ++i) {
      if (ids[i] != dropped_slot) weights[i] *= weights_.expert_scale[static_cast<size_t>(ids[i])];
    }
  }
  return counts;
}

// A row that finds an expert full is routed again, to all experts that it could have been routed
// to. What one of them would weigh is its score, divided (where weights are) by what the scores of
// the first choices were divided by, so that the weights of the other slots hold.
SlotCounts Moe::bound_slots(const Runtime& runtime, const float* logits, int64_t rows, int32_t* ids,
                            float* weights) const {
  RouteShape all = shape_of(spec_);
  all.top_k = all.experts / all.groups * all.kept_groups;
  all.normalize = false;
  all.scale = 1.0f;
  std::vector<int32_t> order(static_cast<size_t>(all.top_k));
  std::vector<float> scores(order.size());
  std::vector<RankedExpert> others;
  const NextBest next_best = [&](int64_t row) {
    runtime.backend.route(logits + row * spec_.experts, data_or_null(weights_.correction), 1, all,
                          order.data(), scores.data());
    const auto chosen = static_cast<size_t>(spec_.top_k);
    float factor = static_cast<float>(spec_.router.scale);
    if (spec_.router.normalize) {
      const float sum = std::accumulate(scores.begin(), scores.begin() + spec_.top_k, 0.0f);
      factor /= sum + static_cast<float>(spec_.router.epsilon);
    }
    others.clear();
    for (size_t i = chosen; i < order.size(); ++i) others.push_back({order[i], scores[i] * factor});
    return std::span<const RankedExpert>(others);
  };
  const bool moves = runtime.capacity.overflow == ExpertOverflow::next;
  return settle_slots(rows, spec_.top_k, spec_.experts,
                      places_of_expert(runtime.capacity.factor, rows, spec_.top_k, spec_.experts),
                      ids, weights, moves ? next_best : NextBest());
}

// The stream normalised without weights, times the stored ones, divided by the root of its width.
void Moe::make_router_input(const Runtime& runtime, const float* stream, int64_t rows,
                            float* out) const {
  const int64_t hidden = runtime.spec.hidden;
  runtime.backend.rms_norm(stream, rows, hidden, hidden, weights_.router_scale.data(),
                           static_cast<float>(runtime.spec.norm_eps), out);
  const double root = std::sqrt(static_cast<double>(hidden));
  runtime.backend.scale(out, rows * hidden, static_cast<float>(1.0 / root));
}

void Moe::compute_beside(const Runtime& runtime, const float* x, int64_t rows) const {
  const int64_t hidden = runtime.spec.hidden;
  float* beside = runtime.workspace.floats(StepBuffer::shared);
  mlp_forward(runtime, weights_.beside, spec_.beside->activation, x, rows, beside,
              "dense part beside experts");
  runtime.backend.rms_norm(beside, rows, hidden, hidden, weights_.after_beside_norm.data(),
                           static_cast<float>(runtime.spec.norm_eps), beside);
}

void Moe::compute_shared(const Runtime& runtime, const float* x, int64_t rows) const {
  float* shared = runtime.workspace.floats(StepBuffer::shared);
  mlp_forward(runtime, weights_.shared, spec_.activation, x, rows, shared, "shared expert");
  if (spec_.shared->gated) {
    float* gate = runtime.workspace.floats(StepBuffer::router);
    runtime.backend.matmul(x, rows, weights_.shared_router, nullptr, Compute::fp32, gate);
    runtime.backend.scale_rows_by_sigmoid(shared, gate, rows, runtime.spec.hidden);
  }
}

void Moe::compute_experts(const Runtime& runtime, const Dispatched& work, float* results) const {
  if (weights_.down.empty()) {
    // More ranks share an expert than it has columns, and this one holds none.
    std::fill_n(results, work.work() * runtime.spec.hidden, 0.0f);
    return;
  }
  float* mid = runtime.workspace.floats(StepBuffer::expert_mid);
  const ExpertRows rows{work.source, work.begin};
  if (spec_.activation.has_gate()) {
    runtime.backend.grouped_matmul_glu(
        work.rows, rows, weights_.gate_up, data_or_null(weights_.gate_bias),
        data_or_null(weights_.up_bias), glu_of(spec_.activation), runtime.compute, mid);
  } else {
    runtime.backend.grouped_matmul(work.rows, rows, weights_.gate_up, runtime.compute, mid);
    runtime.backend.relu_squared(mid, work.work() * weights_.gate_up[0].shape().n);
  }
  std::vector<int32_t> in_place(work.source.size());
  std::iota(in_place.begin(), in_place.end(), 0);
  runtime.backend.grouped_matmul(mid, {in_place, work.begin}, weights_.down, runtime.compute,
                                 results);
}

void Moe::forward(const Runtime& runtime, const Batch& batch, const float* stream, float* x,
                  float* out, RouteTrace* trace) {
  const int64_t rows = batch.rows();
  const int64_t hidden = runtime.spec.hidden;
  const int64_t slots = rows * spec_.top_k;
  int32_t* ids = runtime.workspace.ints(StepBuffer::routes);
  float* weights = reinterpret_cast<float*>(ids + slots);
  StepClock& clock = runtime.world.clock();
  clock.begin(StepPart::experts, "router");
  if (spec_.router.input_norm) make_router_input(runtime, stream, rows, out);
  counts_.slots += route(runtime, spec_.router.input_norm ? out : x, rows, ids, weights);
  clock.end();
  if (trace != nullptr) {
    trace->ids.assign(ids, ids + slots);
    trace->weights.assign(weights, weights + slots);
  }
  const auto eps = static_cast<float>(runtime.spec.norm_eps);
  if (spec_.shared) {
    const auto span = clock.time(StepPart::feed_forward, "shared expert");
    compute_shared(runtime, x, rows);
  }
  if (spec_.beside) {
    const auto span = clock.time(StepPart::feed_forward, "dense part beside experts");
    compute_beside(runtime, x, rows);
    runtime.backend.rms_norm(stream, rows, hidden, hidden, weights_.experts_norm.data(), eps, x);
  }
  if (spec_.router.scales_input) {
    // One expert a token (checked with the config), so that its input can be scaled in place.
    runtime.backend.scale_rows(x, weights, rows, hidden);
    std::fill_n(weights, slots, 1.0f);
  }

  // Chunks are the same on every rank of the stage: the longest group decides how many there are.
  const int64_t longest = *std::max_element(batch.rows_of_dp.begin(), batch.rows_of_dp.end());
  const int64_t chunk = moe_chunk_tokens(runtime.layout, longest);
  float* results = runtime.workspace.floats(StepBuffer::expert_output);
  std::vector<int64_t> rows_of_dp(batch.rows_of_dp.size());
  for (int64_t first = 0; first < longest; first += chunk) {
    for (size_t dp = 0; dp < rows_of_dp.size(); ++dp) {
      rows_of_dp[dp] = std::clamp<int64_t>(batch.rows_of_dp[dp] - first, 0, chunk);
    }
    const int64_t at = std::min(first, rows);
    Dispatched work =
        exchange_.dispatch(runtime, x + at * hidden, ids + at * spec_.top_k, rows_of_dp);
    for (size_t e = 0; e < counts_.computed.size(); ++e) {
      counts_.computed[e] += work.begin[e + 1] - work.begin[e];
    }
    {
      const auto span = clock.time(StepPart::experts, "experts");
      compute_experts(runtime, work, results);
    }
    exchange_.combine(runtime, std::move(work), results, ids + at * spec_.top_k,
                      weights + at * spec_.top_k, data_or_null(weights_.down_bias), rows_of_dp,
                      out + at * hidden);
  }
  if (spec_.beside) {
    runtime.backend.rms_norm(out, rows, hidden, hidden, weights_.after_experts_norm.data(), eps,
                             out);
  }
  if (spec_.shared || spec_.beside) {
    runtime.backend.add(out, runtime.workspace.floats(StepBuffer::shared), rows * hidden);
  }
}

}  // namespace dure
