// Holds what a group answered against the record: logits, routes and greedy tokens, each up to the
// noise of the arithmetic in use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/spec.h"
#include "protocol/messages.h"
#include "tensor/dtype.h"
#include "verify/expected.h"

namespace dure {

// How far honest arithmetic may be from the record.
struct Tolerance {
  double logit = 0.0;   // largest difference of a logit
  double router = 0.0;  // routes must agree, and keys are surely the recorded ones, where the
                        // recorded margin is above this
  double greedy = 0.0;  // tokens must agree where the recorded margin is above this
};

// fp32: the record itself is fp32, and fp32 engines that sum in another order differ by up to 1e-3
// on these models. bf16, and a cache that rounds: see the derivation in compare.cc. `logit_rms` is
// the record's own.
Tolerance tolerance_for(Compute compute, DType kv_dtype, const ModelSpec& spec, double logit_rms);

// The same for matrices that were made codes while loading: see the derivation in compare.cc.
Tolerance quantized(const Tolerance& tolerance, CodeFormat codes, Compute compute,
                    const ModelSpec& spec, double logit_rms);

// How much more a model amplifies roundings than tolerance_for allows for, told from the error of
// an fp32 run: at least 1.
double amplification_of(const ModelSpec& spec, double logit_rms, double fp32_error);
Tolerance times(const Tolerance& tolerance, double factor);

double rms_of(const std::vector<float>& values);

struct PromptCheck {
  std::string name;
  int64_t tokens = 0;
  double max_abs_logit_error = 0.0;   // over the compared positions
  double mean_abs_logit_error = 0.0;  // over the compared positions
  // All of them, or those before the first route that went another way, or before the first wrong
  // logit at or after a choice of keys that was too close to tell.
  int64_t positions_compared = 0;
  int64_t routes = 0;
  int64_t routes_agreed = 0;
  int64_t routes_wrong = 0;  // disagree although the margin is above the tolerance
  // Before the first step whose recorded margin is below the tolerance; where the prompt's last
  // position was not compared, before the first that goes another way.
  int64_t greedy_steps = 0;
  int64_t greedy_matched = 0;
  bool passed = false;
};

PromptCheck compare_prefill(const ExpectedPrompt& expected, int64_t top_k, const TracedSlice& got,
                            const Tolerance& tolerance);

// Fills in the greedy fields and `passed`. `tokens`: the group's own greedy continuation.
void compare_greedy(const ExpectedPrompt& expected, const std::vector<int32_t>& tokens,
                    const Tolerance& tolerance, PromptCheck* check);

}  // namespace dure
