// Macros and call blocks.
#include <fmt/format.h>

#include "text/jinja_scope.h"

namespace dure::jinja {
namespace {

class Macro : public Object {
 public:
  Macro(const MacroBody& body, Scope* closure, const Names& names)
      : body_(body), closure_(closure), names_(names) {}
  std::string type() const override { return "Macro"; }
  std::string repr() const override { return fmt::format("<Macro '{}'>", body_.name); }
  bool callable() const override { return true; }
  Value call(Interpreter& run, const Arguments& arguments) override {
    return run.call_macro(body_, closure_, arguments);
  }
  std::optional<Value> attribute(Interpreter& run, std::string_view name) override {
    if (name == "name") return Value::text(body_.name);
    if (name == "caller") return Value::boolean(body_.uses_caller);
    if (name == "catch_kwargs") return Value::boolean(body_.uses_kwargs);
    if (name == "catch_varargs") return Value::boolean(body_.uses_varargs);
    if (name != "arguments") return std::nullopt;
    std::vector<Value> names;
    for (const Parameter& parameter : body_.parameters) {
      names.push_back(Value::text(names_.text(parameter.name)));
    }
    return run.tuple(std::move(names));
  }

 private:
  const MacroBody& body_;
  Scope* closure_;  // where it was defined: its body sees those names as they are when it runs
  const Names& names_;
};

}  // namespace

Value Interpreter::make_macro(const MacroBody& macro) {
  capture(scope_);
  return Value::object(make<Macro>(macro, scope_, tree_.names));
}

void Interpreter::run_call_block(const Statement& statement) {
  const Expr& call_expr = *statement.exprs[0];
  const Value callee = evaluate(*call_expr.parts[0]);
  Arguments arguments = evaluate_arguments(*call_expr.args);
  arguments.keyword.emplace_back("caller", make_macro(*statement.macro));
  write(call(callee, arguments));
}

Value Interpreter::call_macro(const MacroBody& macro, Scope* closure, const Arguments& arguments) {
  const Budget::Level level(budget_);
  const size_t count = macro.parameters.size();
  std::vector<std::optional<Value>> given(count);
  for (size_t i = 0; i < std::min(count, arguments.positional.size()); ++i) {
    given[i] = arguments.positional[i];
  }
  std::vector<std::pair<Value, Value>> unknown;
  std::optional<Value> caller;
  for (const auto& [name, value] : arguments.keyword) {
    size_t i = 0;
    while (i < count && tree_.names.text(macro.parameters[i].name) != name) ++i;
    if (i < count && i >= arguments.positional.size()) {
      given[i] = value;
    } else if (name == "caller" && macro.uses_caller) {
      caller = value;
    } else {
      unknown.emplace_back(Value::text(name), value);
    }
  }
  if (!unknown.empty() && !macro.uses_kwargs) {
    fail_type(fmt::format("macro '{}' takes no keyword argument '{}'", macro.name,
                          unknown[0].first.bytes()));
  }
  if (arguments.positional.size() > count && !macro.uses_varargs) {
    fail_type(fmt::format("macro '{}' takes not more than {} argument(s)", macro.name, count));
  }

  const Scoped scoped(*this, closure);
  if (macro.uses_caller && caller_name_ != Names::none) {
    scope_->set(caller_name_, caller.value_or(Value::undefined("No caller defined")));
  }
  if (macro.uses_kwargs) scope_->set(kwargs_name_, Value::dict(std::move(unknown), &budget_));
  if (macro.uses_varargs) {
    std::vector<Value> rest;
    for (size_t i = count; i < arguments.positional.size(); ++i) {
      rest.push_back(arguments.positional[i]);
    }
    scope_->set(varargs_name_, tuple(std::move(rest)));
  }
  // A default may name the parameters before it.
  for (size_t i = 0; i < count; ++i) {
    const Parameter& parameter = macro.parameters[i];
    if (given[i]) {
      scope_->set(parameter.name, *given[i]);
    } else if (parameter.fallback) {
      scope_->set(parameter.name, evaluate(*parameter.fallback));
    } else {
      const std::string& name = tree_.names.text(parameter.name);
      scope_->set(parameter.name,
                  Value::undefined(fmt::format("parameter '{}' was not provided", name)));
    }
  }
  Captured captured(*this);
  run(macro.body);
  return captured.take();
}

}  // namespace dure::jinja
