// Fits the constants of a step's time to runs that were measured: few of them, as factors of where
// they begin, shared by all engines as far as the runs allow, and shrunk towards 1, since a
// constant that only one model's runs speak for does not carry over to the next model (ridge
// regression with partial pooling; Gelman and Hill 2006, ch. 12; Huber 1964 for runs that no
// constant explains).
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "simulate/closed_loop.h"

namespace dure {

struct FitSample {
  size_t group = 0;  // an engine
  std::function<ServedMeans(const TimeConstants&)> predict;
  double ttft = 0.0;  // measured, seconds
  double tpot = 0.0;
};

struct FitOptions {
  // Cost of a squared log-factor, for each sample: of what all groups share, and of a group's own.
  double shared = 0.002;
  double own = 0.3;
  double ttft_weight = 0.6;  // of a residual in ln TTFT; TPOT's is 1
  double outlier = 0.15;     // residuals beyond count linearly
  int steps = 8;
  std::function<void(int done, int of)> progress = {};
};

// The constants of each group of `start`. Deterministic.
std::vector<TimeConstants> fit_constants(const std::vector<FitSample>& samples,
                                         const std::vector<TimeConstants>& start,
                                         const FitOptions& options);

struct NamedConstant {
  std::string_view name;
  double TimeConstants::*member;
};
// In the order of the members. Others stay as they are set by hand.
const std::vector<NamedConstant>& fitted_constants();

}  // namespace dure
