// The router of every instruction set against its definition, in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "kernels/backend.h"
#include "kernels/random_data.h"

namespace dure {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

using Score = RouteShape::Score;
using GroupRank = RouteShape::GroupRank;

struct Routes {
  std::vector<int32_t> ids;
  std::vector<float> weights;
};

Routes route(Backend& backend, const std::vector<float>& logits, const float* correction,
             const RouteShape& shape) {
  const int64_t rows = static_cast<int64_t>(logits.size()) / shape.experts;
  const auto slots = static_cast<size_t>(rows * shape.top_k);
  Routes routes{std::vector<int32_t>(slots, -1), std::vector<float>(slots, nan)};
  backend.route(logits.data(), correction, rows, shape, routes.ids.data(), routes.weights.data());
  return routes;
}

// One row by the definition. `sure` says whether every comparison that decided was either between
// equals or by more than the backends' errors.
struct Defined {
  std::vector<int32_t> ids;
  std::vector<double> weights;
  bool sure = true;
};

// Relative error of a score, in units of 2^-24, of either backend: exp 2.7 and a few roundings
// (math_lanes.h); a softmax has it twice, and a sum of `experts` terms.
double score_error(const RouteShape& shape) {
  return shape.score == Score::softmax ? 7.0 + static_cast<double>(shape.experts) : 5.0;
}

// The first `count` of `items` by falling value, equal ones by number.
template <class Value, class Error>
std::vector<int32_t> first_of(std::vector<int32_t> items, int64_t count, const Value& value,
                              const Error& error, bool& sure) {
  std::stable_sort(items.begin(), items.end(),
                   [&](int32_t a, int32_t b) { return value(a) > value(b); });
  for (size_t i = 0; i + 1 < items.size() && i < static_cast<size_t>(count); ++i) {
    const double gap = value(items[i]) - value(items[i + 1]);
    if (gap != 0.0 && gap <= error(items[i]) + error(items[i + 1])) sure = false;
  }
  items.resize(static_cast<size_t>(count));
  return items;
}

Defined define(const float* logits, const float* correction, const RouteShape& shape) {
  const auto experts = static_cast<size_t>(shape.experts);
  std::vector<double> score(experts), choice(experts), error(experts);
  double sum = 0.0;
  for (size_t e = 0; e < experts; ++e) {
    const double x = logits[e];
    score[e] = shape.score == Score::softmax   ? std::exp(x)
               : shape.score == Score::sigmoid ? 1.0 / (1.0 + std::exp(-x))
                                               : std::sqrt(std::log1p(std::exp(x)));
    sum += score[e];
  }
  for (size_t e = 0; e < experts; ++e) {
    if (shape.score == Score::softmax) score[e] /= sum;
    choice[e] = score[e] + (correction ? static_cast<double>(correction[e]) : 0.0);
    error[e] = (score[e] * score_error(shape) + 2 * std::abs(choice[e])) * 0x1p-24;
  }
  const auto value_of = [&](int32_t e) { return choice[static_cast<size_t>(e)]; };
  const auto error_of = [&](int32_t e) { return error[static_cast<size_t>(e)]; };

  Defined defined;
  const int64_t size = shape.experts / shape.groups;
  std::vector<double> group_value, group_error;
  for (int64_t g = 0; g < shape.groups; ++g) {
    std::vector<int32_t> members(static_cast<size_t>(size));
    std::iota(members.begin(), members.end(), static_cast<int32_t>(g * size));
    bool irrelevant = true;  // which of two nearly equal ones is counted hardly changes the sum
    const bool two = shape.group_rank == GroupRank::best_two && size > 1;
    double total = 0.0, inexact = 0.0;
    for (const int32_t e : first_of(members, two ? 2 : 1, value_of, error_of, irrelevant)) {
      total += value_of(e);
      inexact += 2 * error_of(e);
    }
    group_value.push_back(total);
    group_error.push_back(inexact);
  }
  std::vector<int32_t> groups(static_cast<size_t>(shape.groups));
  std::iota(groups.begin(), groups.end(), 0);
  std::vector<int32_t> kept = first_of(
      groups, shape.kept_groups, [&](int32_t g) { return group_value[static_cast<size_t>(g)]; },
      [&](int32_t g) { return group_error[static_cast<size_t>(g)]; }, defined.sure);
  std::sort(kept.begin(), kept.end());
  std::vector<int32_t> competing;
  for (const int32_t g : kept)
    for (int64_t i = 0; i < size; ++i) competing.push_back(static_cast<int32_t>(g * size + i));
  defined.ids = first_of(competing, shape.top_k, value_of, error_of, defined.sure);

  double total = 0.0;
  for (const int32_t e : defined.ids) total += score[static_cast<size_t>(e)];
  for (const int32_t e : defined.ids) {
    double weight = score[static_cast<size_t>(e)];
    if (shape.normalize) weight /= total + static_cast<double>(shape.epsilon);
    defined.weights.push_back(weight * static_cast<double>(shape.scale));
  }
  return defined;
}

class RouteOnIsa : public testing::TestWithParam<std::string_view> {};

std::vector<RouteShape> shapes() {
  std::vector<RouteShape> all;
  for (const Score score : {Score::softmax, Score::sigmoid, Score::sqrt_softplus}) {
    for (const bool normalize : {false, true}) {
      const auto add = [&](int64_t experts, int64_t top_k, int64_t groups, int64_t kept,
                           GroupRank rank) {
        RouteShape shape;
        shape.experts = experts;
        shape.top_k = top_k;
        shape.score = score;
        shape.normalize = normalize;
        shape.epsilon = normalize ? 1e-3f : 0.0f;
        shape.scale = normalize ? 2.5f : 1.0f;
        shape.groups = groups;
        shape.kept_groups = kept;
        shape.group_rank = rank;
        all.push_back(shape);
      };
      for (const int64_t experts : {1, 2, 8, 60, 128, 500})
        for (const int64_t top_k : {int64_t{1}, std::min<int64_t>(experts, 8), experts})
          add(experts, top_k, 1, 1, GroupRank::best);
      for (const GroupRank rank : {GroupRank::best, GroupRank::best_two}) {
        add(12, 5, 4, 2, rank);
        add(64, 8, 8, 4, rank);
        add(63, 9, 9, 9, rank);  // all groups are kept
        add(160, 6, 8, 3, rank);
        add(7, 3, 7, 4, rank);  // groups of one
        add(12, 6, 2, 1, rank);
      }
    }
  }
  return all;
}

// Rows are drawn with many equal logits and corrections. Weights: the error of a score twice where
// they are normalised, and a rounding for each sum, quotient and product.
TEST_P(RouteOnIsa, FollowsTheDefinitionForEveryScoreGroupAndCorrection) {
  const auto backend = make_cpu_backend(2, GetParam());
  int64_t compared = 0, unsure = 0;
  for (const RouteShape& shape : shapes()) {
    const int64_t rows = 30;
    auto logits = random_floats(rows * shape.experts, static_cast<uint32_t>(shape.experts));
    for (float& x : logits) x = std::round(x * 40.0f) / 8.0f;
    auto correction = random_floats(shape.experts, 2);
    for (float& x : correction) x = std::round(x * 4.0f) / 16.0f;
    for (const float* c : std::initializer_list<const float*>{nullptr, correction.data()}) {
      const Routes got = route(*backend, logits, c, shape);
      for (int64_t row = 0; row < rows; ++row) {
        const Defined expected = define(logits.data() + row * shape.experts, c, shape);
        ++compared;
        if (!expected.sure) {
          ++unsure;
          continue;
        }
        const auto k = static_cast<double>(shape.top_k);
        const double error =
            shape.normalize ? 2 * score_error(shape) + k + 4 : score_error(shape) + 1;
        for (int64_t s = 0; s < shape.top_k; ++s) {
          const auto at = static_cast<size_t>(row * shape.top_k + s);
          const auto slot = static_cast<size_t>(s);
          ASSERT_EQ(got.ids[at], expected.ids[slot])
              << shape.experts << " experts in " << shape.groups << " groups, row " << row
              << " slot " << s << ", score " << static_cast<int>(shape.score);
          ASSERT_NEAR(got.weights[at], expected.weights[slot],
                      expected.weights[slot] * error * 0x1p-24);
        }
      }
    }
  }
  EXPECT_LT(unsure, compared / 10) << "too few rows are compared";
}

TEST_P(RouteOnIsa, BatchAndThreadsChangeNoBit) {
  for (const RouteShape& shape : shapes()) {
    const int64_t rows = 70;
    const auto logits = random_floats(rows * shape.experts, 3);
    const auto correction = random_floats(shape.experts, 4);
    const Routes all = route(*make_cpu_backend(1, GetParam()), logits, correction.data(), shape);
    const Routes threads =
        route(*make_cpu_backend(3, GetParam()), logits, correction.data(), shape);
    EXPECT_EQ(threads.ids, all.ids);
    EXPECT_EQ(threads.weights, all.weights);
    const std::vector<float> last(logits.end() - shape.experts, logits.end());
    const Routes one = route(*make_cpu_backend(1, GetParam()), last, correction.data(), shape);
    EXPECT_TRUE(std::equal(one.ids.begin(), one.ids.end(), all.ids.end() - shape.top_k));
    EXPECT_TRUE(
        std::equal(one.weights.begin(), one.weights.end(), all.weights.end() - shape.top_k));
  }
}

TEST_P(RouteOnIsa, GroupsRankByTheirBestOrTheirBestTwo) {
  const auto backend = make_cpu_backend(1, GetParam());
  RouteShape shape;
  shape.experts = 6;
  shape.top_k = 2;
  shape.score = Score::sigmoid;
  shape.groups = 3;
  shape.kept_groups = 1;
  const std::vector<float> logits = {3, -3, 2, 1, 0, 0};
  EXPECT_EQ(route(*backend, logits, nullptr, shape).ids, (std::vector<int32_t>{0, 1}));
  shape.group_rank = GroupRank::best_two;
  EXPECT_EQ(route(*backend, logits, nullptr, shape).ids, (std::vector<int32_t>{2, 3}));
  // All choice values may be below 0; experts of groups that were left out still do not win.
  const std::vector<float> correction = {-9, -9, -8, -8, -7, -9};
  EXPECT_EQ(route(*backend, logits, correction.data(), shape).ids, (std::vector<int32_t>{2, 3}));
  shape.group_rank = GroupRank::best;
  EXPECT_EQ(route(*backend, logits, correction.data(), shape).ids, (std::vector<int32_t>{4, 5}));
}

TEST_P(RouteOnIsa, CorrectionsChooseButDoNotWeigh) {
  const auto backend = make_cpu_backend(1, GetParam());
  RouteShape shape;
  shape.experts = 4;
  shape.top_k = 2;
  shape.score = Score::sigmoid;
  const std::vector<float> logits = {2, 1, 0, -1};
  const std::vector<float> correction = {0, 0, 0, 5};
  const Routes got = route(*backend, logits, correction.data(), shape);
  EXPECT_EQ(got.ids, (std::vector<int32_t>{3, 0}));
  EXPECT_NEAR(got.weights[0], 1 / (1 + std::exp(1.0)), 0x1p-23);
  EXPECT_NEAR(got.weights[1], 1 / (1 + std::exp(-2.0)), 0x1p-21);
}

TEST_P(RouteOnIsa, LogitsTellApartWhatRoundingMadeEqual) {
  const auto backend = make_cpu_backend(1, GetParam());
  RouteShape shape;
  shape.experts = 3;
  shape.top_k = 2;
  shape.score = Score::sigmoid;  // 1.0f for all three
  EXPECT_EQ(route(*backend, {30, 40, 50}, nullptr, shape).ids, (std::vector<int32_t>{2, 1}));
  const std::vector<float> zeros(3, 0.0f);
  EXPECT_EQ(route(*backend, {30, 40, 50}, zeros.data(), shape).ids, (std::vector<int32_t>{0, 1}));
}

TEST_P(RouteOnIsa, EpsilonKeepsWeightsOfNothingFinite) {
  const auto backend = make_cpu_backend(1, GetParam());
  RouteShape shape;
  shape.experts = 3;
  shape.top_k = 2;
  shape.score = Score::sigmoid;
  shape.normalize = true;
  const std::vector<float> logits(3, -infinity);
  EXPECT_TRUE(std::isnan(route(*backend, logits, nullptr, shape).weights[0]));
  shape.epsilon = 1e-20f;
  EXPECT_EQ(route(*backend, logits, nullptr, shape).weights, (std::vector<float>{0, 0}));
}

TEST_P(RouteOnIsa, ScoresStayRightFarFromZero) {
  const auto backend = make_cpu_backend(1, GetParam());
  RouteShape shape;
  shape.experts = 1;
  shape.top_k = 1;
  for (const float x : {-80.0f, -30.0f, -17.0f, -5.0f, -1.0f, -1e-3f, 0.0f, 1e-3f, 0.7f, 4.0f,
                        16.0f, 17.0f, 90.0f, 1e30f}) {
    const double exact_sigmoid = 1.0 / (1.0 + std::exp(-static_cast<double>(x)));
    shape.score = Score::sigmoid;
    EXPECT_NEAR(route(*backend, {x}, nullptr, shape).weights[0], exact_sigmoid,
                exact_sigmoid * 5 * 0x1p-24);
    const double exact =
        std::sqrt(std::max<double>(x, 0) + std::log1p(std::exp(-std::abs(static_cast<double>(x)))));
    shape.score = Score::sqrt_softplus;
    EXPECT_NEAR(route(*backend, {x}, nullptr, shape).weights[0], exact, exact * 5 * 0x1p-24) << x;
  }
  EXPECT_EQ(route(*backend, {infinity}, nullptr, shape).weights[0], infinity);
  EXPECT_EQ(route(*backend, {-infinity}, nullptr, shape).weights[0], 0.0f);
}

TEST_P(RouteOnIsa, IdsStayDistinctAndInRangeWhateverTheLogits) {
  const auto backend = make_cpu_backend(1, GetParam());
  const std::vector<float> correction = {nan, 0.1f, infinity, -infinity, nan, 0.2f};
  for (const std::vector<float>& logits :
       std::vector<std::vector<float>>{{nan, nan, nan, nan, nan, nan},
                                       {nan, 1, nan, 2, nan, 0},
                                       {infinity, infinity, 0, nan, -infinity, 1},
                                       std::vector<float>(6, -infinity)}) {
    for (const RouteShape& like : shapes()) {
      for (int64_t groups : {1, 2, 3}) {
        for (int64_t top_k = 1; top_k <= 6 / groups; ++top_k) {
          RouteShape shape = like;
          shape.experts = 6;
          shape.top_k = top_k;
          shape.groups = groups;
          shape.kept_groups = 1;
          for (const float* c : std::initializer_list<const float*>{nullptr, correction.data()}) {
            const Routes got = route(*backend, logits, c, shape);
            EXPECT_EQ(std::set<int32_t>(got.ids.begin(), got.ids.end()).size(), got.ids.size());
            for (const int32_t id : got.ids) EXPECT_TRUE(id >= 0 && id < 6);
            // A NaN among the logits of a softmax shows in the weights instead of hiding.
            if (std::isnan(logits[0]) && shape.score == Score::softmax) {
              EXPECT_TRUE(std::isnan(got.weights[0]));
            }
          }
        }
      }
    }
  }
}

TEST_P(RouteOnIsa, NanStaysInItsRow) {
  const auto backend = make_cpu_backend(2, GetParam());
  for (const RouteShape& shape : shapes()) {
    auto logits = random_floats(3 * shape.experts, 5);
    const Routes clean = route(*backend, logits, nullptr, shape);
    logits[static_cast<size_t>(shape.experts)] = nan;
    const Routes got = route(*backend, logits, nullptr, shape);
    for (int64_t i = 0; i < 3 * shape.top_k; ++i) {
      if (i / shape.top_k == 1) continue;
      EXPECT_EQ(got.ids[static_cast<size_t>(i)], clean.ids[static_cast<size_t>(i)]);
      EXPECT_EQ(got.weights[static_cast<size_t>(i)], clean.weights[static_cast<size_t>(i)]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, RouteOnIsa, testing::ValuesIn(cpu_isas()), [](const auto& info) {
  std::string name(info.param);
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace dure
