#include "plan/pareto.h"

#include <gtest/gtest.h>

#include "plan/testing.h"

namespace dure {
namespace {

bool beats(const ParetoPoint& a, const ParetoPoint& b) {
  return a.per_gpu >= b.per_gpu && a.per_user >= b.per_user &&
         (a.per_gpu > b.per_gpu || a.per_user > b.per_user);
}

void expect_a_front(const std::vector<ParetoPoint>& points) {
  for (const ParetoPoint& point : points) {
    const bool is_beaten = std::any_of(points.begin(), points.end(), [&](const ParetoPoint& other) {
      return beats(other, point);
    });
    EXPECT_EQ(point.on_front, !is_beaten);
  }
}

TEST(Pareto, MarksThosePointsThatNoOtherBeats) {
  std::vector<ParetoPoint> points;
  for (const auto& [gpu, user] :
       {std::pair{1.0, 9.0}, {2.0, 9.0}, {3.0, 4.0}, {2.5, 3.0}, {5.0, 1.0}, {0.5, 0.5}}) {
    points.push_back({});
    points.back().per_gpu = gpu;
    points.back().per_user = user;
  }
  mark_front(points);
  expect_a_front(points);
}

// Layouts are left out by what single steps promise: replaying all of them changes nothing.
TEST(Pareto, LeavesNoLayoutOutThatWouldBeOnTheFront) {
  const auto ask = testing::asked("qwen3-30b-a3b", "h100", 4, 64);
  const PlanModel model(ask.spec, ask.question);
  const Found found = search(model, ask.question, {});
  const std::vector<ParetoPoint> pruned = pareto(model, ask.question, found.fits);
  std::vector<ParetoPoint> all;
  for (const Deployment& each : found.fits) {
    for (const ParetoPoint& point : pareto(model, ask.question, {each})) all.push_back(point);
  }
  ASSERT_GT(all.size(), pruned.size());
  mark_front(all);
  expect_a_front(pruned);
  const auto front = [](const std::vector<ParetoPoint>& points) {
    return std::count_if(points.begin(), points.end(),
                         [](const ParetoPoint& point) { return point.on_front; });
  };
  EXPECT_EQ(front(all), front(pruned));
}

}  // namespace
}  // namespace dure
