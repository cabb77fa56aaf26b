// What the engine's thread has to say for the log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "protocol/messages.h"
#include "trace/event.h"

namespace dure {

Event event_of(const GroupFailed& failure);  // "group_died"
// Requests that go on, and the tokens that are computed again for them.
Event replay_event(size_t requests, int64_t tokens);
// All requests failed: group after group died before it was ready.
Event given_up_event(size_t requests);
// A request that was in the steps of `deaths` groups as they died: computed alone the next time, or
// failed.
Event suspect_event(const std::string& request, int deaths);
Event poison_event(const std::string& request, int deaths);

}  // namespace dure
