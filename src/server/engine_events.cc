// See engine_events.h.
#include "server/engine_events.h"

#include <fmt/format.h>

namespace dure {

Event event_of(const GroupFailed& failure) {
  Event event{Level::error, "group_died",
              fmt::format("the group of ranks died: {}", failure.message), failure.hint};
  event.cause = to_string(failure.cause);
  event.rank = failure.rank;
  event.pid = failure.pid;
  event.host = failure.host;
  event.step = failure.where.step;
  event.layer = failure.where.layer;
  event.operation = failure.where.operation;
  return event;
}

Event replay_event(size_t requests, int64_t tokens) {
  Event event{Level::info, "requests_replayed",
              fmt::format("{} request{} will go on, {} tokens of them are computed again", requests,
                          requests == 1 ? "" : "s", tokens)};
  event.numbers = {{"requests", static_cast<double>(requests)},
                   {"tokens", static_cast<double>(tokens)}};
  return event;
}

Event given_up_event(size_t requests) {
  Event event{Level::error, "requests_failed",
              fmt::format("{} request{} failed with the group of ranks", requests,
                          requests == 1 ? "" : "s")};
  event.numbers = {{"requests", static_cast<double>(requests)}};
  return event;
}

Event suspect_event(const std::string& request, int deaths) {
  Event event{
      Level::warning, "request_suspected",
      fmt::format("request {} was computed as the ranks died, {} times: it will be computed "
                  "alone",
                  request, deaths)};
  event.request = request;
  event.numbers = {{"deaths", deaths}};
  return event;
}

Event poison_event(const std::string& request, int deaths) {
  Event event{Level::error, "request_poisoned",
              fmt::format("request {} fails: the ranks died {} times while they computed it, the "
                          "last time alone",
                          request, deaths),
              "the ranks' last words tell what of"};
  event.request = request;
  event.numbers = {{"deaths", deaths}};
  return event;
}

}  // namespace dure
