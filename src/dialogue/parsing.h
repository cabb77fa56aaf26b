// The coroutine type of parsers: awaited by another parser, or started as the one that reads the
// whole answer. Starting and ending go through the source's loop, so that neither long answers nor
// many small parsers use up the stack. One that awaits in a condition needs a local variable of its
// own: else g++ 12 puts the condition's temporary in front of the frame, and it fails when it is
// first resumed.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

#include "dialogue/source.h"

namespace dure::dialogue {

template <class T>
class [[nodiscard]] Parsing {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  struct Leave {
    bool await_ready() const noexcept { return false; }
    void await_suspend(Handle done) const noexcept {
      if (done.promise().caller) done.promise().source->schedule(done.promise().caller);
    }
    void await_resume() const noexcept {}
  };

  struct promise_type {
    Source* source = nullptr;
    std::coroutine_handle<> caller;
    T value{};
    std::exception_ptr failure;

    Parsing get_return_object() { return Parsing(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    Leave final_suspend() const noexcept { return {}; }
    void return_value(T result) { value = result; }
    void unhandled_exception() { failure = std::current_exception(); }
  };

  Parsing() = default;
  Parsing(Parsing&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Parsing& operator=(Parsing&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Parsing() {
    if (handle_) handle_.destroy();
  }

  // Reads `source` from now on, whenever something is pushed.
  void start(Source& source) {
    handle_.promise().source = &source;
    source.schedule(handle_);
  }
  void rethrow() const {
    if (handle_ && handle_.promise().failure) std::rethrow_exception(handle_.promise().failure);
  }

  bool await_ready() const noexcept { return false; }
  template <class Caller>
  void await_suspend(std::coroutine_handle<Caller> caller) {
    handle_.promise().caller = caller;
    start(*caller.promise().source);
  }
  T await_resume() const {
    rethrow();
    return handle_.promise().value;
  }

 private:
  explicit Parsing(Handle handle) : handle_(handle) {}
  Handle handle_;
};

}  // namespace dure::dialogue
