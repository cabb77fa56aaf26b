// The guards of the interpreter: a scope of names, a stretch of output. Internal to the
// interpreter's files.
#pragma once

#include "text/jinja_interpreter.h"

namespace dure::jinja {

class Interpreter::Scoped {
 public:
  Scoped(Interpreter& run, Scope* parent) : run_(run), before_(run.scope_) {
    run_.scope_ = run_.acquire_scope(parent);
  }
  ~Scoped() {
    run_.release_scope(run_.scope_);
    run_.scope_ = before_;
  }
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;

 private:
  Interpreter& run_;
  Scope* before_;
};

class Interpreter::Captured {
 public:
  explicit Captured(Interpreter& run) : run_(run), before_(run.out_) { run_.out_ = &text_; }
  ~Captured() { run_.out_ = before_; }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  Value take() { return run_.text(std::move(text_)); }

 private:
  Interpreter& run_;
  std::string* before_;
  std::string text_;
};

}  // namespace dure::jinja
