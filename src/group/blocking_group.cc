// BlockingGroup of group.h: a Group whose events are waited for.
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "group/group.h"

namespace dure {

struct BlockingGroup::Impl {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<GroupReady> ready;
  std::optional<StepDone> step;
  std::optional<GroupStats> stats;
  std::optional<GroupFailed> failed;
  std::unique_ptr<Group> group;  // last: its thread uses the others until it is destroyed

  // Keeps an event where the waiting call finds it.
  template <typename T>
  auto keep(std::optional<T>& place) {
    return [this, &place](T event) {
      const std::lock_guard lock(mutex);
      place = std::move(event);
      changed.notify_all();
    };
  }

  template <typename T>
  T wait_for(std::optional<T>& place) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return place || failed; });
    if (place) return *std::exchange(place, std::nullopt);
    const auto last = static_cast<uint8_t>(ErrorCode::failed);
    throw Error(static_cast<ErrorCode>(std::min(failed->code, last)), failed->message,
                failed->hint);
  }
};

BlockingGroup::BlockingGroup(const GroupOptions& options,
                             std::function<void(const LoadProgress&)> on_progress)
    : impl_(std::make_unique<Impl>()) {
  Group::Events events;
  events.on_progress = std::move(on_progress);
  events.on_ready = impl_->keep(impl_->ready);
  events.on_step = impl_->keep(impl_->step);
  events.on_stats = impl_->keep(impl_->stats);
  events.on_failed = impl_->keep(impl_->failed);
  impl_->group = Group::launch(options, std::move(events));
  impl_->ready = impl_->wait_for(impl_->ready);
}

BlockingGroup::~BlockingGroup() {
  impl_->group->stop();
}

const GroupReady& BlockingGroup::ready() const {
  return *impl_->ready;
}

StepDone BlockingGroup::run(Step step) {
  impl_->group->send(std::move(step));
  return impl_->wait_for(impl_->step);
}

GroupStats BlockingGroup::stats() {
  impl_->group->send(AskStats{});
  return impl_->wait_for(impl_->stats);
}

}  // namespace dure
