// Statements: what each does to the output and to the names.
#include "text/jinja_interpreter.h"

#include <fmt/format.h>

#include "text/jinja_scope.h"

namespace dure::jinja {

Value* Scope::find(uint32_t name) {
  for (auto& [key, value] : names) {
    if (key == name) return &value;
  }
  return nullptr;
}

void Scope::set(uint32_t name, Value value) {
  if (Value* old = find(name)) {
    *old = std::move(value);
  } else {
    names.emplace_back(name, std::move(value));
  }
}

Interpreter::Interpreter(const Tree& tree, const Limits& limits, std::optional<std::tm> now)
    : tree_(tree),
      budget_(limits),
      now_(now),
      loop_name_(tree.names.find("loop")),
      caller_name_(tree.names.find("caller")),
      varargs_name_(tree.names.find("varargs")),
      kwargs_name_(tree.names.find("kwargs")) {
  define_globals(*this);
}

Interpreter::~Interpreter() {
  // Values release what they hold, so they go before the budget does.
  context_.clear();
  scopes_.clear();
  objects_.clear();
}

void Interpreter::define(std::string_view name, Value value) {
  const uint32_t number = tree_.names.find(name);
  if (number == Names::none) return;
  if (context_.size() <= number) context_.resize(number + 1);
  context_[number] = std::move(value);
}

std::string Interpreter::render() {
  std::string out;
  out_ = &out;
  root_ = scope_ = acquire_scope(nullptr);
  run(tree_.body);
  return out;
}

Scope* Interpreter::acquire_scope(Scope* parent) {
  Scope* scope;
  if (free_scopes_.empty()) {
    budget_.hold(sizeof(Scope));
    scope = &scopes_.emplace_back();
  } else {
    scope = free_scopes_.back();
    free_scopes_.pop_back();
  }
  scope->parent = parent;
  return scope;
}

void Interpreter::release_scope(Scope* scope) {
  if (scope->captured) return;
  scope->names.clear();
  free_scopes_.push_back(scope);
}

void Interpreter::capture(Scope* scope) {
  for (; scope && !scope->captured; scope = scope->parent) scope->captured = true;
}

void Interpreter::write(std::string_view text) {
  budget_.step_text(text.size());
  budget_.check_text(out_->size() + text.size());
  *out_ += text;
}

void Interpreter::write(const Value& value) {
  append_str(budget_, *out_, value);
}

Interpreter::Flow Interpreter::run(const Block& block) {
  for (const Statement& statement : block) {
    const Flow flow = run(statement);
    if (flow != Flow::onward) return flow;
  }
  return Flow::onward;
}

Interpreter::Flow Interpreter::run(const Statement& statement) {
  budget_.step();
  if (statement.kind == Statement::Kind::data) {
    write(statement.text);
    return Flow::onward;
  }
  const Budget::Level level(budget_);
  try {
    return run_statement(statement);
  } catch (JinjaError& error) {
    if (error.line == 0) error.line = statement.line;
    throw;
  }
}

Interpreter::Flow Interpreter::run_statement(const Statement& statement) {
  switch (statement.kind) {
    case Statement::Kind::data:
      break;
    case Statement::Kind::output:
      for (const ExprPtr& expr : statement.exprs) write(evaluate(*expr));
      break;
    case Statement::Kind::set:
      assign(statement.targets[0], evaluate(*statement.exprs[0]));
      break;
    case Statement::Kind::set_block:
      return run_set_block(statement);
    case Statement::Kind::loop: {
      const Value iterable = evaluate(*statement.exprs[0]);
      return run_loop(statement, iterable, 0, scope_);
    }
    case Statement::Kind::branch:
      return run_branch(statement);
    case Statement::Kind::macro:
      assign(statement.targets[0], make_macro(*statement.macro));
      break;
    case Statement::Kind::call_block:
      run_call_block(statement);
      break;
    case Statement::Kind::filter_block:
      return run_filter_block(statement);
    case Statement::Kind::with:
      return run_with(statement);
    case Statement::Kind::scope:
      return run_in_scope(statement.body, scope_);
    case Statement::Kind::block:
      return run_in_scope(statement.body, statement.recursive ? scope_ : root_);
    case Statement::Kind::stop:
      return Flow::stop;
    case Statement::Kind::next:
      return Flow::next;
  }
  return Flow::onward;
}

Interpreter::Flow Interpreter::run_branch(const Statement& statement) {
  for (const auto& [test, body] : statement.branches) {
    if (!test || truth(evaluate(*test))) return run(body);
  }
  return Flow::onward;
}

Interpreter::Flow Interpreter::run_in_scope(const Block& block, Scope* parent) {
  const Scoped scoped(*this, parent);
  return run(block);
}

Interpreter::Flow Interpreter::run_set_block(const Statement& statement) {
  Flow flow;
  Value value;
  {
    Captured captured(*this);
    flow = run_in_scope(statement.body, scope_);
    value = captured.take();
  }
  if (!statement.exprs.empty()) value = evaluate_filter(*statement.exprs[0], &value);
  assign(statement.targets[0], value);
  return flow;
}

Interpreter::Flow Interpreter::run_filter_block(const Statement& statement) {
  Flow flow;
  Value value;
  {
    Captured captured(*this);
    flow = run_in_scope(statement.body, scope_);
    value = captured.take();
  }
  write(evaluate_filter(*statement.exprs[0], &value));
  return flow;
}

Interpreter::Flow Interpreter::run_with(const Statement& statement) {
  std::vector<Value> values = evaluate_all(statement.exprs);
  const Scoped scoped(*this, scope_);
  for (size_t i = 0; i < values.size(); ++i) assign(statement.targets[i], values[i]);
  return run(statement.body);
}

void Interpreter::assign(const Target& target, const Value& value) {
  if (!target.elements.empty()) {
    const std::vector<Value> values = to_items(value);
    if (values.size() != target.elements.size()) {
      fail_value(fmt::format("{} values where {} were to be unpacked", values.size(),
                             target.elements.size()));
    }
    for (size_t i = 0; i < values.size(); ++i) assign(target.elements[i], values[i]);
    return;
  }
  if (target.attribute.empty()) {
    scope_->set(target.name, value);
    return;
  }
  const Value owner = look_up(target.name);
  Namespace* space =
      owner.is(Kind::object) ? dynamic_cast<Namespace*>(&owner.as_object()) : nullptr;
  if (!space) fail_value("cannot assign attribute on non-namespace object");
  space->set(target.attribute, value);
}

Value Interpreter::look_up(uint32_t name) const {
  for (Scope* scope = scope_; scope; scope = scope->parent) {
    if (const Value* found = scope->find(name)) return *found;
  }
  if (name < context_.size() && context_[name]) return *context_[name];
  return Value::undefined(fmt::format("'{}' is undefined", tree_.names.text(name)));
}

}  // namespace dure::jinja
