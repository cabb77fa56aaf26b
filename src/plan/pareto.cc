// See pareto.h.
#include "plan/pareto.h"

#include <algorithm>
#include <numeric>

namespace dure {
namespace {

class Front {
 public:
  Front(const PlanModel& model, const PlanQuestion& question)
      : model_(model), question_(question) {}

  // Doubles the requests in flight until the cache is full.
  void walk(const Deployment& deployment) {
    const int64_t most = std::min(deployment.room.sequences, deployment.batch);
    for (int64_t each = 1;; each = std::min(each * 2, most)) {
      if (could_be_on_it(deployment, each)) replay(deployment, each);
      if (each == most) return;
    }
  }

  std::vector<ParetoPoint> points;

 private:
  PlannedLoad load_of_each(const Deployment& deployment, int64_t each) const {
    return load_of(in_flight(question_, each * deployment.groups()));
  }

  bool could_be_on_it(const Deployment& deployment, int64_t each) const {
    const PlannedLoad load = load_of_each(deployment, each);
    const Service best = best_case(deployment, model_.engine, load);
    const double per_gpu = best.per_gpu;
    const double per_user = best.tokens_per_s / static_cast<double>(load.concurrency);
    return std::none_of(points.begin(), points.end(), [&](const ParetoPoint& point) {
      return point.per_gpu >= per_gpu && point.per_user >= per_user;
    });
  }

  void replay(const Deployment& deployment, int64_t each) {
    const PlannedLoad load = load_of_each(deployment, each);
    const Service service = serve(deployment, model_.engine, load);
    points.push_back({deployment.layout, deployment.replicas, load.concurrency, service.per_gpu,
                      service.per_user, service.ttft, service.tpot, false,
                      miss_of(in_flight(question_, load.concurrency), service).empty()});
  }

  const PlanModel& model_;
  const PlanQuestion& question_;
};

}  // namespace

std::vector<ParetoPoint> pareto(const PlanModel& model, const PlanQuestion& question,
                                const std::vector<Deployment>& deployments) {
  Front front(model, question);
  for (const Deployment& deployment : deployments) front.walk(deployment);
  mark_front(front.points);
  return std::move(front.points);
}

void mark_front(std::vector<ParetoPoint>& points) {
  std::vector<size_t> order(points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (points[a].per_user != points[b].per_user) return points[a].per_user > points[b].per_user;
    return points[a].per_gpu > points[b].per_gpu;
  });
  double most = -1.0;
  for (const size_t i : order) {
    points[i].on_front = points[i].per_gpu > most;
    most = std::max(most, points[i].per_gpu);
  }
}

}  // namespace dure
