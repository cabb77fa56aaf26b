// See mask_queue.h.
#include "server/mask_queue.h"

#include <algorithm>
#include <utility>

namespace dure {
namespace {

constexpr size_t most_lines = 256;  // until idle ones are forgotten

}  // namespace

MaskQueue::MaskQueue(int workers) : most_of_one_(std::max(1, workers - 1)) {}

void MaskQueue::push(MaskJob job) {
  const auto line = lines_.try_emplace(job.constraint->grammar()).first;
  if (!line->second.busy()) {
    std::optional<double> least;
    for (const auto& each : lines_) {
      if (each.second.busy())
        least = std::min(least.value_or(each.second.spent), each.second.spent);
    }
    line->second.spent = std::max(line->second.spent, least.value_or(0.0));
  }
  line->second.jobs.push_back(std::move(job));
  if (lines_.size() > most_lines) forget_idle();
}

std::optional<MaskJob> MaskQueue::take() {
  Line* best = nullptr;
  for (auto& [grammar, line] : lines_) {
    if (line.jobs.empty() || line.running >= most_of_one_) continue;
    if (best == nullptr || line.spent < best->spent) best = &line;
  }
  if (best == nullptr) return std::nullopt;
  MaskJob job = std::move(best->jobs.front());
  best->jobs.pop_front();
  ++best->running;
  return job;
}

void MaskQueue::done(const MaskJob& job, double seconds) {
  Line& line = lines_.at(job.constraint->grammar());
  --line.running;
  line.spent += seconds;
}

void MaskQueue::forget_idle() {
  std::erase_if(lines_, [](const auto& each) { return !each.second.busy(); });
}

}  // namespace dure
