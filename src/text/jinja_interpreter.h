// One rendering: walks the tree with the values of its context. Owns every object made on the way.
#pragma once

#include <cstdint>
#include <ctime>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja_ast.h"
#include "text/jinja_budget.h"
#include "text/jinja_object.h"

namespace dure::jinja {

// The names set in one stretch of a template: an iteration, a macro call, the template itself.
struct Scope {
  Scope* parent = nullptr;
  bool captured = false;  // a macro still sees it, so it is not used again
  std::vector<std::pair<uint32_t, Value>> names;

  Value* find(uint32_t name);
  void set(uint32_t name, Value value);
};

class LoopObject;

class Interpreter {
 public:
  Interpreter(const Tree& tree, const Limits& limits, std::optional<std::tm> now);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  // Adds a variable; names the template does not use are dropped.
  void define(std::string_view name, Value value);
  std::string render();

  Budget& budget() { return budget_; }
  const std::optional<std::tm>& now() const { return now_; }

  // Values that this rendering holds.
  Value text(std::string bytes, TextKind kind = TextKind::plain) {
    return Value::text(std::move(bytes), &budget_, kind);
  }
  Value list(std::vector<Value> items) {
    return Value::sequence(std::move(items), SequenceKind::list, &budget_);
  }
  Value tuple(std::vector<Value> items) {
    return Value::sequence(std::move(items), SequenceKind::tuple, &budget_);
  }
  template <class T, class... Args>
  T* make(Args&&... args) {
    budget_.hold(sizeof(T) + sizeof(void*));
    auto object = std::make_unique<T>(std::forward<Args>(args)...);
    T* raw = object.get();
    objects_.push_back(std::move(object));
    return raw;
  }
  Value generator(Generator::Next next) { return Value::object(make<Generator>(std::move(next))); }

  std::string str(const Value& value) { return to_str(budget_, value); }
  bool equal(const Value& a, const Value& b) { return jinja::equal(budget_, a, b); }

  // jinja_access.cc: attributes and items as the sandbox gives them.
  Value get_attribute(const Value& object, std::string_view name);
  Value get_item(const Value& object, const Value& key);
  Value get_slice(const Value& object, const Value& start, const Value& stop, const Value& step);
  Value call(const Value& callee, const Arguments& arguments);
  std::vector<Value> to_items(const Value& iterable);  // list(iterable)

  // jinja_macro.cc
  Value call_macro(const MacroBody& macro, Scope* closure, const Arguments& arguments);
  // jinja_loop.cc
  Value call_loop(const Statement& loop, Scope* closure, const Value& iterable, int depth);

 private:
  enum class Flow { onward, stop, next };

  class Scoped;    // a scope for as long as it lives
  class Captured;  // collects the output

  // jinja_interpreter.cc
  Flow run(const Block& block);
  Flow run(const Statement& statement);
  Flow run_statement(const Statement& statement);
  Flow run_branch(const Statement& statement);
  Flow run_in_scope(const Block& block, Scope* parent);
  Flow run_set_block(const Statement& statement);
  Flow run_filter_block(const Statement& statement);
  Flow run_with(const Statement& statement);
  void write(const Value& value);
  void write(std::string_view text);
  void assign(const Target& target, const Value& value);
  Value look_up(uint32_t name) const;
  Scope* acquire_scope(Scope* parent);
  void release_scope(Scope* scope);
  static void capture(Scope* scope);  // keeps it and those around it

  // jinja_macro.cc
  Value make_macro(const MacroBody& macro);
  void run_call_block(const Statement& statement);

  // jinja_loop.cc
  Flow run_loop(const Statement& statement, const Value& iterable, int depth, Scope* outer);

  // jinja_expression.cc
  Value evaluate(const Expr& expr);
  Value evaluate_comparison(const Expr& expr);
  Value evaluate_dict(const Expr& expr);
  Value evaluate_call(const Expr& expr);
  Value evaluate_filter(const Expr& expr, const Value* input);
  Value evaluate_test(const Expr& expr);
  Value evaluate_item(const Expr& expr);
  std::vector<Value> evaluate_all(const std::vector<ExprPtr>& parts);
  Arguments evaluate_arguments(const CallArgs& args);

  friend class LoopObject;

  const Tree& tree_;
  Budget budget_;
  std::optional<std::tm> now_;
  std::deque<std::unique_ptr<Object>> objects_;
  std::deque<Scope> scopes_;
  std::vector<Scope*> free_scopes_;
  std::vector<std::optional<Value>> context_;  // by the number of the name
  uint32_t loop_name_, caller_name_, varargs_name_, kwargs_name_;
  Scope* scope_ = nullptr;
  Scope* root_ = nullptr;
  std::string* out_ = nullptr;
};

// Walks any iterable; a type error for values that are none.
class Iterator {
 public:
  Iterator(Interpreter& run, Value source);
  bool next(Value& out);
  // How many items are left, if that is known without walking.
  std::optional<size_t> left() const;

 private:
  Interpreter& run_;
  Value source_;
  size_t at_ = 0;  // byte or item
};

// The environment's functions (jinja_globals.cc).
void define_globals(Interpreter& run);

}  // namespace dure::jinja
