// The seam between a load and the wire: calls that report what happens to them, timers, and a
// clock. HttpTransport speaks HTTP on real time; tests answer from a script on a clock of their
// own. Everything runs on the thread that is inside run().
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace dure::load {

struct CallSpec {
  std::string method;
  std::string path;
  std::string body;  // JSON; empty: none
};

struct CallHead {
  int status = 0;
  std::string content_type;
  double retry_after_s = 0.0;  // 0: not said
};

enum class CallEnd {
  complete,        // the answer is whole
  left,            // a handler said to hang up, or hang_up() was called
  not_reached,     // no connection
  no_descriptors,  // no connection, for want of file descriptors
  timed_out,       // no byte for too long
  hung_up,         // before an answer began
  not_http,        // what came is not HTTP
  cut,             // in the middle of the answer
};

// What happens to one call. The handlers that return bool say whether to go on; else the call is
// hung up.
class CallEvents {
 public:
  virtual ~CallEvents() = default;
  virtual bool on_sent() = 0;  // all of the request is with the system
  virtual bool on_head(const CallHead& head) = 0;
  virtual bool on_bytes(std::string_view bytes) = 0;
  // The last one, always; `why` says more where the end is not a good one.
  virtual void on_end(CallEnd end, const std::string& why) = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual double now() const = 0;  // seconds, never goes back
  // Calls `then` at the time, or soon if that has passed; never from inside this call.
  virtual void at(double when_s, std::function<void()> then) = 0;
  virtual void start(CallSpec spec, std::shared_ptr<CallEvents> events) = 0;
  // Hangs up all calls and forgets all timers.
  virtual void hang_up() = 0;

  // Until no call and no timer is left.
  virtual void run() = 0;
  // From any thread: calls `then` inside run(), if it still runs.
  virtual void post(std::function<void()> then) = 0;
};

}  // namespace dure::load
