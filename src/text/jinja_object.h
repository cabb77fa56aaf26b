// The values with state or behaviour: what a template can call, step through or assign to.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja_value.h"

namespace dure::jinja {

class Interpreter;

// The arguments of a call, already evaluated.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keyword;

  bool empty() const { return positional.empty() && keyword.empty(); }
};

// Matches arguments to the parameter names of `what` as Python does; parameters that were not given
// stay empty. Too many or unknown arguments, or fewer than `required`, are type errors.
std::vector<std::optional<Value>> bind(const Arguments& arguments, std::string_view what,
                                       std::initializer_list<std::string_view> parameters,
                                       size_t required = 0);

class Object {
 public:
  virtual ~Object() = default;
  virtual std::string type() const = 0;  // Python's name of the type
  virtual std::string repr() const { return "<" + type() + ">"; }
  // The attribute of this name; empty if there is none.
  virtual std::optional<Value> attribute(Interpreter&, std::string_view) { return std::nullopt; }
  virtual bool callable() const { return false; }
  virtual Value call(Interpreter&, const Arguments&);  // raises unless overridden
  virtual bool iterable() const { return false; }
  virtual bool next(Interpreter&, Value&) { return false; }  // false at the end
};

// A function of the environment or a method bound to its value.
class Function : public Object {
 public:
  using Body = std::function<Value(Interpreter&, const Arguments&)>;
  Function(std::string name, Body body) : name_(std::move(name)), body_(std::move(body)) {}
  std::string type() const override { return "function"; }
  std::string repr() const override { return "<function " + name_ + ">"; }
  bool callable() const override { return true; }
  Value call(Interpreter& run, const Arguments& arguments) override {
    return body_(run, arguments);
  }

 private:
  std::string name_;
  Body body_;
};

// A lazy sequence that can be walked once, as filters such as map and select give it.
class Generator : public Object {
 public:
  using Next = std::function<bool(Interpreter&, Value&)>;
  explicit Generator(Next next) : next_(std::move(next)) {}
  std::string type() const override { return "generator"; }
  bool iterable() const override { return true; }
  bool next(Interpreter& run, Value& out) override { return next_(run, out); }

 private:
  Next next_;
};

class Namespace : public Object {
 public:
  std::string type() const override { return "Namespace"; }
  std::optional<Value> attribute(Interpreter&, std::string_view name) override;
  void set(std::string_view name, Value value);  // refuses names that start with "_"

 private:
  std::vector<std::pair<std::string, Value>> values_;
};

}  // namespace dure::jinja
