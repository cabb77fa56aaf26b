// The text of an answer as the parsers in this folder read it: byte by byte, waiting where the
// model has not written any further. A parser is a coroutine (parsing.h), so that each format reads
// as the plain loop it is, and what it decides cannot depend on how the text was cut into pieces.
#pragma once

#include <coroutine>
#include <string>
#include <string_view>

namespace dure::dialogue {

class Source {
 public:
  static constexpr int end = -1;  // in place of a byte: the answer is over

  // `co_await source.peek()` is the next byte or end; take() goes on behind it.
  struct Next {
    Source& source;
    bool takes;
    bool await_ready() const { return source.read_ < source.text_.size() || source.finished_; }
    void await_suspend(std::coroutine_handle<> waiting) const { source.waiting_ = waiting; }
    int await_resume() const { return source.current(takes); }
  };
  Next peek() { return {*this, false}; }
  Next take() { return {*this, true}; }

  // Runs the parser until it wants more than there is.
  void push(std::string_view piece);
  void finish();

  // Keeps what is taken from here on, behind `already`, until it is known what it means.
  void record(std::string_view already = "");
  void forget();
  std::string recorded();  // gives it away and forgets

  // What runs next: nested parsers start and end through this, never on each other's stack.
  void schedule(std::coroutine_handle<> next) { next_ = next; }

 private:
  int current(bool takes);
  void run();

  std::string text_;
  size_t read_ = 0;
  bool finished_ = false;
  bool recording_ = false;
  std::string record_;
  std::coroutine_handle<> waiting_;
  std::coroutine_handle<> next_;
};

}  // namespace dure::dialogue
