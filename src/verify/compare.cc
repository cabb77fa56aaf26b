// See compare.h.
//
// The bf16 tolerance. A value rounded to bf16 (8 significant bits) is off by at most u = 2^-8 of
// itself, uniformly, so by u / sqrt(3) in the root mean square. On a token's way through one layer
// nine roundings reach the residual stream: the attention input through q, through k and through v,
// the cached k and v, the attention output; the feed-forward input through gate and through up, and
// their product. The head's input is one more. Roundings are independent, and each disturbs a
// branch that is at most as large as the stream it is added to (norms bring every branch to one
// scale), so the stream's relative error is about
//   e = u / sqrt(3) * sqrt(9 layers + 1)
// in the root mean square, and a logit's error e * rms(logits). Errors of many logits are close to
// a normal distribution; the largest of 10^4 to 10^6 of them lies within 5 standard deviations. One
// factor of two is for what a model amplifies (norms of small rows, slopes of the softmax).
//
// Matrices that the checkpoint does not store in bf16 are rounded to it too. Roundings of a matrix
// disturb its product as much as those of its input do, and independently: seven more for each
// layer (q, k, v, o, gate, up, down) and one for the head.
//
// A cache of another type rounds the cached k and v to steps of its own: two of the nine have u =
// 2^-4 for fp8 (4 significant bits), and are all there is in fp32.
//
// That factor is too small for models whose scores are large: a softmax turns an error of a score
// into a relative error of the weights, and scores of 50 carry errors that scores of 5 do not. How
// much a model amplifies is measured, not guessed, where bf16 leaves its tolerance: the same
// prompts in fp32 are off the record by roundings of 2^-24, of every addition of a product too, of
// which there are `hidden`. So an fp32 run of a model that is not worse than assumed errs by at
// most
//   2^-16 * sqrt(hidden) * the bf16 tolerance,
// and where it errs by more, bf16 may, by the same factor. An arithmetic fault of bf16 alone does
// not show in fp32, so it finds no excuse here.
#include "verify/compare.h"

#include <algorithm>
#include <cmath>

namespace dure {
namespace {

constexpr double fp32_logit_tolerance = 1e-3;

// The largest relative error of rounding to a type.
double rounding_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 0.0;  // below all that counts here
    case DType::bf16:
      return 0x1p-8;
    case DType::f16:
      return 0x1p-11;
    case DType::fp8:
      return 0x1p-4;
  }
  return 0.0;
}

bool same_route(const ExpectedPrompt& expected, int64_t top_k, const TracedSlice& got, size_t at) {
  const auto k = static_cast<size_t>(top_k);
  std::vector<int32_t> ids(got.expert_ids.begin() + static_cast<int64_t>(at * k),
                           got.expert_ids.begin() + static_cast<int64_t>((at + 1) * k));
  std::sort(ids.begin(), ids.end());  // the record is ascending
  return std::equal(ids.begin(), ids.end(),
                    expected.router_ids.begin() + static_cast<int64_t>(at * k));
}

// The first position where some indexer may choose other keys than the recorded ones; all positions
// if there is none. The scores of normed rows are of order one, as a router's are.
int64_t first_close_choice_of_keys(const ExpectedPrompt& expected, const Tolerance& tolerance) {
  const auto tokens = static_cast<size_t>(expected.tokens());
  size_t first = tokens;
  for (size_t at = 0; at < expected.index_margin.size(); ++at) {
    if (expected.index_margin[at] <= tolerance.router) first = std::min(first, at % tokens);
  }
  return static_cast<int64_t>(first);
}

// The first position whose routing rightly went another way in some layer; all positions if none
// did. From `unsure` on any route may.
int64_t check_routes(const ExpectedPrompt& expected, int64_t top_k, const TracedSlice& got,
                     const Tolerance& tolerance, int64_t unsure, PromptCheck* check) {
  const auto tokens = static_cast<size_t>(expected.tokens());
  size_t first_other = tokens;
  check->routes = static_cast<int64_t>(expected.router_ids.size()) / std::max<int64_t>(top_k, 1);
  if (check->routes == 0) return expected.tokens();
  if (got.expert_ids.size() != expected.router_ids.size()) {
    check->routes_wrong = check->routes;
    return 0;
  }
  // A token that was routed another way upstream may rightly route another way later on, and so may
  // every later token that attends to it: only positions before the first such one are held to it.
  std::vector<bool> agrees(static_cast<size_t>(check->routes));
  for (size_t at = 0; at < agrees.size(); ++at) {
    agrees[at] = same_route(expected, top_k, got, at);
    check->routes_agreed += agrees[at] ? 1 : 0;
    const bool close = expected.router_margin[at] <= tolerance.router ||
                       at % tokens >= static_cast<size_t>(unsure);
    if (!agrees[at] && close) {
      first_other = std::min(first_other, at % tokens);
    }
  }
  for (size_t at = 0; at < agrees.size(); ++at) {
    if (!agrees[at] && at % tokens < first_other) ++check->routes_wrong;
  }
  return static_cast<int64_t>(first_other);
}

struct Errors {
  double largest = 0.0;
  double sum = 0.0;
};

Errors errors_of(const ExpectedPrompt& expected, const TracedSlice& got, int64_t position,
                 int64_t vocab) {
  Errors errors;
  for (int64_t i = position * vocab; i < (position + 1) * vocab; ++i) {
    const auto at = static_cast<size_t>(i);
    double error = std::abs(double{got.logits[at]} - expected.logits[at]);
    if (std::isnan(error)) error = INFINITY;
    errors.largest = std::max(errors.largest, error);
    errors.sum += error;
  }
  return errors;
}

}  // namespace

double rms_of(const std::vector<float>& values) {
  double sum = 0.0;
  for (const float value : values) sum += double{value} * value;
  return std::sqrt(sum / static_cast<double>(std::max<size_t>(values.size(), 1)));
}

namespace {

Tolerance tolerance_of(Compute compute, DType kv_dtype, double layers, bool weights_are_rounded,
                       double logit_rms) {
  const double fp32 = compute == Compute::fp32 ? fp32_logit_tolerance : 0.0;
  if (compute == Compute::fp32 && kv_dtype == DType::f32) return {fp32, fp32, 2 * fp32};
  const double u = compute == Compute::fp32 ? 0.0 : rounding_of(DType::bf16);
  const double u_kv = rounding_of(kv_dtype);
  constexpr double standard_deviations = 5.0;
  constexpr double amplification = 2.0;
  const double of_weights = weights_are_rounded ? 7.0 * layers + 1.0 : 0.0;
  const double e =
      std::sqrt(((7.0 * layers + 1.0 + of_weights) * u * u + 2.0 * layers * u_kv * u_kv) / 3.0);
  Tolerance tolerance;
  tolerance.logit = standard_deviations * amplification * e * logit_rms + fp32;
  // Router logits of a normed row are of order one; two of them are compared.
  tolerance.router = standard_deviations * amplification * e * std::sqrt(2.0) + fp32;
  // Two logits, each off by at most the tolerance.
  tolerance.greedy = 2.0 * tolerance.logit;
  return tolerance;
}

bool stores_more_than_bf16(const ModelSpec& spec) {
  return spec.dtype != DType::bf16 || !spec.release.rules.empty();
}

}  // namespace

Tolerance tolerance_for(Compute compute, DType kv_dtype, const ModelSpec& spec, double logit_rms) {
  return tolerance_of(compute, kv_dtype, static_cast<double>(spec.layers.size()),
                      stores_more_than_bf16(spec), logit_rms);
}

// Codes of a group of 32 are steps of its largest weight / 127 or / 8, and that is some 2.5
// standard deviations, so that a code is off by 2.5 / (127 or 8) / sqrt(12) of one. With integer
// codes inputs are codes of 8 bits as well. Each product counts, as above, with both.
Tolerance quantized(const Tolerance& tolerance, CodeFormat codes, Compute compute,
                    const ModelSpec& spec, double logit_rms) {
  if (codes == CodeFormat::none) return tolerance;
  constexpr double inputs_step = 2.5 / 127.0;
  const double step = codes == CodeFormat::q8 ? inputs_step : 2.5 / 8.0;
  const double products = 7.0 * static_cast<double>(spec.layers.size()) + 1.0;
  const double squares = step * step + (compute == Compute::bf16 ? inputs_step * inputs_step : 0.0);
  constexpr double deviations_and_amplification = 5.0 * 2.0;
  const double e = deviations_and_amplification * std::sqrt(products * squares / 12.0);
  Tolerance wider;
  wider.logit = std::hypot(tolerance.logit, e * logit_rms);
  wider.router = std::hypot(tolerance.router, e * std::sqrt(2.0));
  wider.greedy = 2.0 * wider.logit;
  return wider;
}

double amplification_of(const ModelSpec& spec, double logit_rms, double fp32_error) {
  const Tolerance bf16 = tolerance_of(Compute::bf16, DType::bf16,
                                      static_cast<double>(spec.layers.size()), false, logit_rms);
  const double assumed = bf16.logit * std::sqrt(static_cast<double>(spec.hidden)) / 65536.0;
  return std::max(1.0, fp32_error / assumed);
}

Tolerance times(const Tolerance& tolerance, double factor) {
  return {tolerance.logit * factor, tolerance.router * factor, tolerance.greedy * factor};
}

PromptCheck compare_prefill(const ExpectedPrompt& expected, int64_t top_k, const TracedSlice& got,
                            const Tolerance& tolerance) {
  PromptCheck check;
  check.name = expected.name;
  check.tokens = expected.tokens();
  const int64_t vocab = static_cast<int64_t>(expected.logits.size()) / expected.tokens();
  if (got.vocab != vocab || got.logits.size() != expected.logits.size()) {
    check.max_abs_logit_error = INFINITY;
    return check;
  }
  const int64_t unsure = first_close_choice_of_keys(expected, tolerance);
  const int64_t positions = check_routes(expected, top_k, got, tolerance, unsure, &check);
  double sum = 0.0;
  for (; check.positions_compared < positions; ++check.positions_compared) {
    const int64_t position = check.positions_compared;
    const Errors errors = errors_of(expected, got, position, vocab);
    // Which keys were chosen is not recorded, so that other keys show by other logits alone.
    if (position >= unsure && errors.largest > tolerance.logit) break;
    check.max_abs_logit_error = std::max(check.max_abs_logit_error, errors.largest);
    sum += errors.sum;
  }
  const auto count = static_cast<double>(check.positions_compared * vocab);
  check.mean_abs_logit_error = count > 0 ? sum / count : 0.0;
  return check;
}

void compare_greedy(const ExpectedPrompt& expected, const std::vector<int32_t>& tokens,
                    const Tolerance& tolerance, PromptCheck* check) {
  // What a prompt goes on with is held to the record if its last position is.
  const bool held = check->positions_compared == check->tokens;
  bool equal = true;
  for (size_t i = 0; i < expected.greedy.size(); ++i) {
    if (expected.greedy_margin[i] <= tolerance.greedy) break;
    equal = equal && i < tokens.size() && tokens[i] == expected.greedy[i];
    if (!equal && !held) break;
    ++check->greedy_steps;
    if (equal) ++check->greedy_matched;
  }
  check->passed = check->max_abs_logit_error <= tolerance.logit && check->routes_wrong == 0 &&
                  check->greedy_matched == check->greedy_steps;
}

}  // namespace dure
