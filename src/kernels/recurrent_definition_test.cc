// The recurrent operations of every instruction set against their definitions: by hand, and in
// double within bounds derived from the roundings on the way. u = 2^-24; first-order terms, with 1%
// for the rest. A vector exp is within 2.7 u of itself, sigmoid and silu within 5 u, softplus
// within 8 u; libm's are closer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/backend.h"
#include "kernels/recurrent_cases.h"

namespace dure {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr double u = 0x1p-24;
constexpr size_t state_row = 32;  // floats from one key of a panel to the next

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}
double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

// An output and how far a backend may be from it.
struct Bounded {
  double value = 0.0;
  double error = 0.0;
};

void expect_bounded(const std::vector<float>& got, const std::vector<Bounded>& exact) {
  ASSERT_EQ(got.size(), exact.size());
  double largest = 0.0;
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], exact[i].value, exact[i].error * 1.01) << "output " << i;
    largest = std::max(largest, exact[i].error);
  }
  EXPECT_LT(largest, 1e-3);  // a bound that allows everything would prove nothing
}

class DefinitionOnIsa : public testing::TestWithParam<std::string_view> {
 protected:
  // One sequence from its start.
  template <class Inputs>
  std::vector<float> run(const Inputs& inputs, int64_t rows) {
    std::vector<float> state(static_cast<size_t>(inputs.state_floats()), nan);
    std::vector<float> out(static_cast<size_t>(rows * inputs.out_width()), nan);
    const StateSlice slice{0, rows, 0, 0};
    inputs.run(*make_cpu_backend(2, GetParam()), {&slice, 1}, {state.data(), inputs.state_floats()},
               out.data());
    return out;
  }
};

// Sums of taps + 1 terms, then silu, whose slope is at most 1.1.
TEST_P(DefinitionOnIsa, ConvolutionStaysWithinTheDerivedBound) {
  for (const ConvCase& setup : conv_cases()) {
    const int64_t rows = 30;
    const ConvInputs inputs(setup, rows, 1);
    std::vector<Bounded> exact;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t c = 0; c < setup.channels; ++c) {
        double sum = setup.bias ? inputs.bias[static_cast<size_t>(c)] : 0.0;
        double size = std::abs(sum);
        for (int64_t tap = 0; tap < setup.taps; ++tap) {
          const int64_t from = row - setup.taps + 1 + tap;
          if (from < 0) continue;
          const double term =
              static_cast<double>(inputs.w[static_cast<size_t>(tap * setup.channels + c)]) *
              inputs.x[static_cast<size_t>(from * inputs.stride() + c)];
          sum += term;
          size += std::abs(term);
        }
        const double error = static_cast<double>(setup.taps + 1) * u * size;
        const double silu = sum * sigmoid(sum);
        exact.push_back(setup.silu ? Bounded{silu, 1.1 * error + 5 * u * std::abs(silu)}
                                   : Bounded{sum, error});
      }
    }
    expect_bounded(run(inputs, rows), exact);
  }
}

// Errors of one column of the state, by its Euclidean norm: e after the tokens so far. An exact
// step is s -> (1 - beta k kᵀ) D s + beta v k, whose matrix has norm at most 1 as |k|, beta and all
// decays are at most 1, so errors add up. Let K = key_dim, ek the relative error of an element of k
// (a sum of squares over 16 sums of K / 16 terms and a tree, eps, its root, a quotient, a product),
// ed the largest error of a decay, s the norm before the step, v the value.
// - known = Sᵀ (decay k): (ek + u + ed + K u) s
// - delta: beta 5 u, two roundings, of |v| + s; k once more in the outer product
// - S: ed s of the decay, u s of the product, u (s + |v|) of the sum
// Together s (2 ed + 2 ek + (K + 10) u) + |v| (ek + 8 u). The output adds |q| ((ek + 3 u) + K u)
// |S|.
struct DeltaColumn {
  std::vector<double> s;
  double error = 0.0;
};

double norm(const std::vector<double>& x) {
  double sum = 0.0;
  for (const double value : x) sum += value * value;
  return std::sqrt(sum);
}

std::vector<double> normalised(const float* x, int64_t n, double eps, double scale) {
  std::vector<double> out(x, x + n);
  const double size = norm(out);
  for (double& value : out) value *= scale / std::sqrt(size * size + eps);
  return out;
}

// g = -rate softplus(a): relative 2.7 u of rate, 8 u of softplus, u of the product; with a lower
// bound z = rate a has 3.7 u, of which sigmoid feels |z| at most, then 5 u and a product.
Bounded delta_decay(const DeltaRule& rule, int64_t head, double a) {
  const double rate = std::exp(static_cast<double>(rule.a_log[head]));
  if (rule.lower_bound < 0.0f) {
    const double g = rule.lower_bound * sigmoid(rate * a);
    return {std::exp(g), std::exp(g) * (-g * (3.7 * std::abs(rate * a) + 6) + 3) * u};
  }
  const double g = -rate * softplus(a);
  return {std::exp(g), std::exp(g) * (-g * 12 + 3) * u};
}

std::vector<Bounded> exact_delta_rule(const DeltaInputs& inputs, int64_t rows) {
  const DeltaRule rule = inputs.rule();
  const DeltaRuleInput input = inputs.input();
  const int64_t keys = rule.key_dim;
  const double size = static_cast<double>(keys);
  const double key_error = ((std::ceil(size / 16) + 6) / 2 + 3) * u;
  std::vector<DeltaColumn> columns(
      static_cast<size_t>(rule.heads * rule.value_dim),
      DeltaColumn{std::vector<double>(static_cast<size_t>(keys)), 0.0});
  std::vector<Bounded> out;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t head = 0; head < rule.heads; ++head) {
      const int64_t at = row * input.stride + rule.key_of_head[static_cast<size_t>(head)] * keys;
      const auto q = normalised(input.q + at, keys, rule.eps, 1 / std::sqrt(size));
      const auto k = normalised(input.k + at, keys, rule.eps, 1.0);
      const double beta = sigmoid(input.b[row * input.b_stride + head]);
      std::vector<double> decay;
      double decay_error = 0.0;
      for (int64_t i = 0; i < keys; ++i) {
        const int64_t of = head * rule.decays + (rule.decays == 1 ? 0 : i);
        const float a = input.a[row * input.a_stride + of] + rule.dt_bias[of];  // rounded alike
        const Bounded d = delta_decay(rule, head, a);
        decay.push_back(d.value);
        decay_error = std::max(decay_error, d.error);
      }
      for (int64_t j = 0; j < rule.value_dim; ++j) {
        DeltaColumn& column = columns[static_cast<size_t>(head * rule.value_dim + j)];
        const double v = input.v[row * input.stride + head * rule.value_dim + j];
        column.error += norm(column.s) * (2 * decay_error + 2 * key_error + (size + 10) * u) +
                        std::abs(v) * (key_error + 8 * u);
        double known = 0.0, result = 0.0;
        for (size_t i = 0; i < column.s.size(); ++i) known += decay[i] * k[i] * column.s[i];
        for (size_t i = 0; i < column.s.size(); ++i) {
          column.s[i] = decay[i] * column.s[i] + k[i] * beta * (v - known);
          result += q[i] * column.s[i];
        }
        out.push_back(
            {result, norm(q) * (column.error + (key_error + (size + 3) * u) * norm(column.s))});
      }
    }
  }
  return out;
}

TEST_P(DefinitionOnIsa, DeltaRuleStaysWithinTheDerivedBound) {
  for (const DeltaCase& setup : delta_cases()) {
    SCOPED_TRACE(setup.key_dim);
    const DeltaInputs inputs(setup, 60, Gates::random, 3);
    expect_bounded(run(inputs, 60), exact_delta_rule(inputs, 60));
  }
}

// Each element of the state on its own. The log decay has 2.7 u of the rate, 8 u of dt and a
// product; dt x has 8 u and a product; S rounds its product and its sum.
std::vector<Bounded> exact_ssm_scan(const SsmInputs& inputs, int64_t rows) {
  const SsmScan scan = inputs.scan();
  const SsmInput input = inputs.input();
  std::vector<Bounded> state(static_cast<size_t>(scan.heads * scan.head_dim * scan.state_dim));
  std::vector<Bounded> out;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t head = 0; head < scan.heads; ++head) {
      const float raw = input.dt[row * input.dt_stride + head] + scan.dt_bias[head];
      const double dt = std::clamp<double>(softplus(raw), scan.dt_min, scan.dt_max);
      const double g = -std::exp(static_cast<double>(scan.a_log[head])) * dt;
      const double decay = std::exp(g), decay_error = decay * (-g * 12 + 3) * u;
      const int64_t at =
          row * input.stride + scan.group_of_head[static_cast<size_t>(head)] * scan.state_dim;
      for (int64_t j = 0; j < scan.head_dim; ++j) {
        const double x = input.x[row * input.stride + head * scan.head_dim + j];
        Bounded sum{scan.d[head] * x, 0.0};
        for (int64_t i = 0; i < scan.state_dim; ++i) {
          Bounded& s = state[static_cast<size_t>((head * scan.head_dim + j) * scan.state_dim + i)];
          const double add = input.b[at + i] * dt * x, c = input.c[at + i];
          s.error = decay * s.error + (decay_error + decay * u) * std::abs(s.value) +
                    9 * u * std::abs(add);
          s.value = decay * s.value + add;
          s.error += u * std::abs(s.value);
          sum.value += c * s.value;
          sum.error +=
              std::abs(c) * (s.error + static_cast<double>(scan.state_dim) * u * std::abs(s.value));
        }
        sum.error += u * std::abs(sum.value);
        out.push_back(sum);
      }
    }
  }
  return out;
}

TEST_P(DefinitionOnIsa, SsmScanStaysWithinTheDerivedBound) {
  for (const SsmCase& setup : ssm_cases()) {
    SCOPED_TRACE(setup.state_dim);
    const SsmInputs inputs(setup, 60, Gates::random, 4);
    expect_bounded(run(inputs, 60), exact_ssm_scan(inputs, 60));
  }
}

// Relative errors: the gated value 6 u (twice that in its square), the sum of squares as in the
// delta rule and the mean's quotient, halved by the root; root, reciprocal and three products.
TEST_P(DefinitionOnIsa, GatedNormStaysWithinTheDerivedBoundAndInPlaceGivesTheSameBits) {
  const int64_t rows = 19, groups = 3;
  for (const int64_t width : {1, 16, 50, 128}) {
    const int64_t stride = groups * width + 2, z_stride = groups * width + 5;
    const auto x = padded_rows(rows, groups * width, 2, 1);
    const auto z = padded_rows(rows, groups * width, 5, 2, 6.0f);
    const auto w = random_floats(groups * width, 3);
    for (const auto gate : {GatedNorm::Gate::silu, GatedNorm::Gate::sigmoid}) {
      for (const auto order : {GatedNorm::Order::norm_first, GatedNorm::Order::gate_first}) {
        for (const bool shared : {true, false}) {
          const GatedNorm norm{groups, width, w.data(), shared, 1e-5f, gate, order};
          std::vector<float> out(x.size(), nan), in_place = x;
          const auto backend = make_cpu_backend(3, GetParam());
          backend->gated_norm(x.data(), rows, stride, z.data(), z_stride, norm, out.data());
          backend->gated_norm(in_place.data(), rows, stride, z.data(), z_stride, norm,
                              in_place.data());
          const double relative = ((std::ceil(static_cast<double>(width) / 16) + 8) / 2 + 17) * u;
          for (int64_t i = 0; i < rows * groups; ++i) {
            const float* values = x.data() + i / groups * stride + i % groups * width;
            const float* gates = z.data() + i / groups * z_stride + i % groups * width;
            const bool first = order == GatedNorm::Order::gate_first;
            const auto gate_of = [&](int64_t j) {
              const double of = gates[j];
              return gate == GatedNorm::Gate::silu ? of * sigmoid(of) : sigmoid(of);
            };
            double squares = 0.0;
            for (int64_t j = 0; j < width; ++j) {
              const double value = values[j] * (first ? gate_of(j) : 1.0);
              squares += value * value;
            }
            for (int64_t j = 0; j < width; ++j) {
              const size_t at = static_cast<size_t>(i / groups * stride + i % groups * width + j);
              const double exact = values[j] * gate_of(j) *
                                   w[static_cast<size_t>(shared ? j : i % groups * width + j)] /
                                   std::sqrt(squares / static_cast<double>(width) + norm.eps);
              ASSERT_NEAR(out[at], exact, std::abs(exact) * relative) << width;
              ASSERT_EQ(out[at], in_place[at]);
            }
          }
          EXPECT_TRUE(std::isnan(out[static_cast<size_t>(stride - 1)]));  // between rows: untouched
        }
      }
    }
  }
}

TEST_P(DefinitionOnIsa, GatedNormGivesTheReferenceBitsWhereExpIsExact) {
  const int64_t rows = 9, groups = 2, width = 70;
  const auto x = random_floats(rows * groups * width, 1);
  auto z = random_floats(rows * groups * width, 2);
  choose(z, {-200.0f, 0.0f, 200.0f});
  const auto w = random_floats(width, 3);
  for (const auto gate : {GatedNorm::Gate::silu, GatedNorm::Gate::sigmoid}) {
    for (const auto order : {GatedNorm::Order::norm_first, GatedNorm::Order::gate_first}) {
      const GatedNorm norm{groups, width, w.data(), true, 1e-5f, gate, order};
      std::vector<float> out(x.size(), nan), expected(x.size(), nan);
      make_cpu_backend(1, "reference")
          ->gated_norm(x.data(), rows, groups * width, z.data(), groups * width, norm,
                       expected.data());
      make_cpu_backend(2, GetParam())
          ->gated_norm(x.data(), rows, groups * width, z.data(), groups * width, norm, out.data());
      EXPECT_EQ(out, expected);
    }
  }
}

TEST_P(DefinitionOnIsa, AConvolutionByHand) {
  const std::vector<float> x = {1, 2, 3}, w = {1, 10, 100}, bias = {0.5f};
  std::vector<float> state(2, nan), out(3, nan);
  const StateSlice slice{0, 3, 0, 0};
  make_cpu_backend(1, GetParam())
      ->causal_conv(x.data(), 1, {&slice, 1}, {1, 3, w.data(), bias.data(), false},
                    {state.data(), 2}, out.data());
  EXPECT_EQ(out, (std::vector<float>{100.5f, 210.5f, 321.5f}));
  EXPECT_EQ(state, (std::vector<float>{2, 3}));
}

// Two keys, one value; beta 1/2. Decays: kept, kept, then each key of its own or both forgotten.
TEST_P(DefinitionOnIsa, ADeltaRuleByHand) {
  const float root = std::sqrt(0.5f);
  // Rows of q, k, v. With k = (0.6, 0.8): S = k * 2/2, out = 0.8 q. Then k = (1, 0) finds 0.6 of 3:
  // S = (1.8, 0.8).
  const std::vector<float> qkv = {0, 5, 3, 4, 2, 7, 0, 1, 0, 3, 1, 1, 0, 2, 4};
  const std::vector<float> b = {0, 0, 0};
  const std::vector<float> one = {0}, zeros = {0, 0};
  const std::vector<int32_t> key_of_head = {0};
  const StateSlice slice{0, 3, 0, 0};
  for (const bool per_key : {false, true}) {
    // The third token forgets all, or only the second key: k = (0, 1) finds nothing of 4, S = (0 or
    // 1.8, 2), q = (1, 1) / 2.
    const std::vector<float> a = per_key ? std::vector<float>{-200, -200, -200, -200, -200, 200}
                                         : std::vector<float>{-200, -200, 200};
    std::vector<float> state(static_cast<size_t>(recurrent_state_floats(1, 2, 1)), nan);
    std::vector<float> out(3, nan);
    const float* const q = qkv.data();
    const int64_t decays = per_key ? 2 : 1;
    make_cpu_backend(1, GetParam())
        ->gated_delta_rule({q, q + 2, q + 4, 5, a.data(), decays, b.data(), 1}, {&slice, 1},
                           {1, 2, 1, key_of_head, decays, one.data(), zeros.data(), 0.0f, 0.0f},
                           {state.data(), 64}, out.data());
    EXPECT_NEAR(out[0], 0.8f * root, 1e-6);
    EXPECT_NEAR(out[1], 1.8f * root, 1e-6);
    EXPECT_NEAR(out[2], per_key ? 1.9f : 1.0f, 1e-6);
    EXPECT_NEAR(state[0], per_key ? 1.8f : 0.0f, 1e-6);
    EXPECT_NEAR(state[state_row], 2.0f, 1e-6);
  }
}

// dt = 1/2 by its limit, decay = exp(-2 ln 2 / 2) = 1/2.
TEST_P(DefinitionOnIsa, AnSsmScanByHand) {
  const std::vector<float> xbc = {4, 1, 2, 3, -1, 0, 5, 5, 1, 1}, dt = {200, 200};
  const std::vector<float> a_log = {std::log(2 * std::log(2.0f))}, dt_bias = {0}, d = {10};
  const std::vector<int32_t> group_of_head = {0};
  std::vector<float> state(static_cast<size_t>(recurrent_state_floats(1, 2, 1)), nan), out(2, nan);
  const StateSlice slice{0, 2, 0, 0};
  const float* const x = xbc.data();
  make_cpu_backend(1, GetParam())
      ->ssm_scan({x, x + 1, x + 3, 5, dt.data(), 1}, {&slice, 1},
                 {1, 1, 2, group_of_head, a_log.data(), dt_bias.data(), d.data(), 0.0f, 0.5f},
                 {state.data(), 64}, out.data());
  EXPECT_EQ(out[0], 42.0f);         // S = (1, 2) * 4/2: 3 * 2 - 4 + 10 * 4
  EXPECT_NEAR(out[1], 3.0f, 2e-6);  // S = (1, 2)
  EXPECT_NEAR(state[state_row], 2.0f, 2e-6);
}

INSTANTIATE_TEST_SUITE_P(, DefinitionOnIsa, testing::ValuesIn(cpu_isas()), [](const auto& info) {
  std::string name(info.param);
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace dure
