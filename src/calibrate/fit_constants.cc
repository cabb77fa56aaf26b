// See fit_constants.h. Levenberg-Marquardt on ln(predicted / measured), reweighted for outliers.
#include "calibrate/fit_constants.h"

#include <algorithm>
#include <cmath>
#include <thread>

namespace dure {
namespace {

using Vector = std::vector<double>;

double loss(double residual, double outlier) {
  const double r = std::abs(residual);
  return r < outlier ? r * r : 2.0 * outlier * r - outlier * outlier;
}

double weight_of(double residual, double outlier) {
  const double r = std::abs(residual);
  return r < outlier ? 1.0 : outlier / r;
}

// Solves a x = b for a symmetric positive definite a, by elimination.
Vector solve(std::vector<Vector> a, Vector b) {
  const size_t n = b.size();
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = i + 1; k < n; ++k) {
      const double factor = a[k][i] / a[i][i];
      if (factor == 0.0) continue;
      for (size_t j = i; j < n; ++j) a[k][j] -= factor * a[i][j];
      b[k] -= factor * b[i];
    }
  }
  Vector x(n);
  for (size_t i = n; i-- > 0;) {
    double sum = b[i];
    for (size_t j = i + 1; j < n; ++j) sum -= a[i][j] * x[j];
    x[i] = sum / a[i][i];
  }
  return x;
}

class Fit {
 public:
  Fit(const std::vector<FitSample>& samples, const std::vector<TimeConstants>& start,
      const FitOptions& options)
      : samples_(samples),
        start_(start),
        options_(options),
        constants_(fitted_constants().size()),
        factors_((1 + start.size()) * constants_, 0.0) {}

  std::vector<TimeConstants> run() {
    residuals_ = residuals(factors_);
    double cost = cost_of(residuals_, factors_);
    double damping = 1e-2;
    for (int step = 0; step < options_.steps; ++step) {
      if (options_.progress) options_.progress(step, options_.steps);
      linearize();
      const double before = cost;
      while (damping < 1e3 && cost == before) {
        const Vector trial = moved(damping);
        const Vector left = residuals(trial);
        const double trial_cost = cost_of(left, trial);
        if (trial_cost < cost) {
          cost = trial_cost;
          factors_ = trial;
          residuals_ = left;
          damping = std::max(1e-4, damping * 0.3);
        } else {
          damping *= 6.0;
        }
      }
      if (before - cost < 1e-3 * before) break;
    }
    std::vector<TimeConstants> fitted;
    for (size_t group = 0; group < start_.size(); ++group) {
      fitted.push_back(constants_of(group, factors_));
    }
    return fitted;
  }

 private:
  // factors: log-factors that all share, then each group's own.
  TimeConstants constants_of(size_t group, const Vector& factors) const {
    TimeConstants constants = start_[group];
    for (size_t i = 0; i < constants_; ++i) {
      constants.*fitted_constants()[i].member *=
          std::exp(factors[i] + factors[(group + 1) * constants_ + i]);
    }
    return constants;
  }

  Vector residuals(const Vector& factors) const {
    std::vector<TimeConstants> constants;
    for (size_t group = 0; group < start_.size(); ++group) {
      constants.push_back(constants_of(group, factors));
    }
    Vector residuals(2 * samples_.size());
    const size_t threads = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, 16);
    const auto work = [&](size_t first) {
      for (size_t i = first; i < samples_.size(); i += threads) {
        const FitSample& sample = samples_[i];
        const ServedMeans means = sample.predict(constants[sample.group]);
        residuals[2 * i] = std::log(means.tpot / sample.tpot);
        residuals[2 * i + 1] = options_.ttft_weight * std::log(means.ttft / sample.ttft);
      }
    };
    std::vector<std::thread> others;
    for (size_t t = 1; t < threads; ++t) others.emplace_back(work, t);
    work(0);
    for (std::thread& other : others) other.join();
    return residuals;
  }

  double shrinkage(size_t factor) const {
    return (factor < constants_ ? options_.shared : options_.own) *
           static_cast<double>(samples_.size());
  }

  double cost_of(const Vector& residuals, const Vector& factors) const {
    double sum = 0.0;
    for (const double residual : residuals) sum += loss(residual, options_.outlier);
    for (size_t i = 0; i < factors.size(); ++i) sum += shrinkage(i) * factors[i] * factors[i];
    return sum;
  }

  // A group's own factor moves its samples as the shared one does.
  void linearize() {
    constexpr double nudge = 0.05;
    std::vector<Vector> slopes(constants_);
    for (size_t c = 0; c < constants_; ++c) {
      Vector nudged = factors_;
      nudged[c] += nudge;
      slopes[c] = residuals(nudged);
      for (size_t i = 0; i < residuals_.size(); ++i) {
        slopes[c][i] = (slopes[c][i] - residuals_[i]) / nudge;
      }
    }
    const size_t n = factors_.size();
    curvature_.assign(n, Vector(n, 0.0));
    downhill_.assign(n, 0.0);
    for (size_t i = 0; i < residuals_.size(); ++i) {
      const double weight = weight_of(residuals_[i], options_.outlier);
      const size_t own = (samples_[i / 2].group + 1) * constants_;
      for (size_t a = 0; a < constants_; ++a) {
        const double slope = weight * slopes[a][i];
        downhill_[a] -= slope * residuals_[i];
        downhill_[own + a] -= slope * residuals_[i];
        for (size_t b = 0; b < constants_; ++b) {
          const double product = slope * slopes[b][i];
          curvature_[a][b] += product;
          curvature_[own + a][b] += product;
          curvature_[a][own + b] += product;
          curvature_[own + a][own + b] += product;
        }
      }
    }
    for (size_t i = 0; i < n; ++i) {
      curvature_[i][i] += shrinkage(i);
      downhill_[i] -= shrinkage(i) * factors_[i];
    }
  }

  Vector moved(double damping) const {
    std::vector<Vector> damped = curvature_;
    for (size_t i = 0; i < damped.size(); ++i) damped[i][i] *= 1.0 + damping;
    const Vector step = solve(std::move(damped), downhill_);
    Vector result = factors_;
    for (size_t i = 0; i < result.size(); ++i) result[i] += std::clamp(step[i], -0.5, 0.5);
    return result;
  }

  const std::vector<FitSample>& samples_;
  const std::vector<TimeConstants>& start_;
  const FitOptions& options_;
  size_t constants_;
  Vector factors_;    // [1 + groups, constants]
  Vector residuals_;  // [samples, 2]
  std::vector<Vector> curvature_;
  Vector downhill_;
};

}  // namespace

const std::vector<NamedConstant>& fitted_constants() {
  using C = TimeConstants;
  static const std::vector<NamedConstant> constants = {
      {"read", &C::read},
      {"cache_read", &C::cache_read},
      {"expert_read", &C::expert_read},
      {"math", &C::math},
      {"expert_math", &C::expert_math},
      {"attention_math", &C::attention_math},
      {"half_rows", &C::half_rows},
      {"collective", &C::collective},
      {"hop", &C::hop},
      {"distinct", &C::distinct},
      {"fp4_input", &C::fp4_input},
      {"link", &C::link},
      {"layer", &C::layer},
      {"expert_layer", &C::expert_layer},
      {"step", &C::step},
      {"sequence", &C::sequence},
      {"prefill_layer", &C::prefill_layer},
      {"arrival", &C::arrival},
      {"first_token", &C::first_token},
  };
  return constants;
}

std::vector<TimeConstants> fit_constants(const std::vector<FitSample>& samples,
                                         const std::vector<TimeConstants>& start,
                                         const FitOptions& options) {
  return Fit(samples, start, options).run();
}

}  // namespace dure
