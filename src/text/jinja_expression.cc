// Expressions.
#include <fmt/format.h>

#include "text/jinja_interpreter.h"
#include "text/jinja_methods.h"

namespace dure::jinja {

Value Interpreter::evaluate(const Expr& expr) {
  if (expr.kind == Expr::Kind::constant) return expr.value;
  const Budget::Level level(budget_);
  budget_.step();
  const auto part = [&](size_t i) { return evaluate(*expr.parts[i]); };
  switch (expr.kind) {
    case Expr::Kind::constant:
      break;
    case Expr::Kind::name:
      return look_up(expr.name);
    case Expr::Kind::list:
      return list(evaluate_all(expr.parts));
    case Expr::Kind::tuple:
      return tuple(evaluate_all(expr.parts));
    case Expr::Kind::dict:
      return evaluate_dict(expr);
    case Expr::Kind::concat: {
      std::string joined;
      for (const ExprPtr& piece : expr.parts) append_str(budget_, joined, evaluate(*piece));
      return text(std::move(joined));
    }
    case Expr::Kind::binary: {
      const Value left = part(0);
      return operate(budget_, expr.operation, left, part(1));
    }
    case Expr::Kind::negative:
      return negate(part(0));
    case Expr::Kind::positive:
      return plus(part(0));
    case Expr::Kind::negation:
      return Value::boolean(!truth(part(0)));
    case Expr::Kind::conjunction: {
      Value left = part(0);
      return truth(left) ? part(1) : left;
    }
    case Expr::Kind::alternative: {
      Value left = part(0);
      return truth(left) ? left : part(1);
    }
    case Expr::Kind::comparison:
      return evaluate_comparison(expr);
    case Expr::Kind::conditional:
      if (truth(part(1))) return part(0);
      if (expr.parts[2]) return part(2);
      return Value::undefined(
          "the inline if-expression evaluated to false and no else section was defined.");
    case Expr::Kind::attribute:
      return get_attribute(part(0), expr.text);
    case Expr::Kind::item:
      return evaluate_item(expr);
    case Expr::Kind::slice:
      fail_type("a slice stands only in a subscript");
    case Expr::Kind::call:
      return evaluate_call(expr);
    case Expr::Kind::filter:
      return evaluate_filter(expr, nullptr);
    case Expr::Kind::test:
      return evaluate_test(expr);
  }
  return {};
}

std::vector<Value> Interpreter::evaluate_all(const std::vector<ExprPtr>& parts) {
  std::vector<Value> values;
  values.reserve(parts.size());
  for (const ExprPtr& part : parts) values.push_back(evaluate(*part));
  return values;
}

Value Interpreter::evaluate_dict(const Expr& expr) {
  std::vector<std::pair<Value, Value>> entries;
  for (size_t i = 0; i < expr.parts.size(); i += 2) {
    Value key = evaluate(*expr.parts[i]);
    entries.emplace_back(std::move(key), evaluate(*expr.parts[i + 1]));
  }
  return Value::dict(std::move(entries), &budget_);
}

Value Interpreter::evaluate_comparison(const Expr& expr) {
  Value left = evaluate(*expr.parts[0]);
  for (size_t i = 0; i < expr.comparisons.size(); ++i) {
    Value right = evaluate(*expr.parts[i + 1]);
    bool holds = false;
    switch (expr.comparisons[i]) {
      case Comparison::equal:
        holds = equal(left, right);
        break;
      case Comparison::not_equal:
        holds = !equal(left, right);
        break;
      case Comparison::less:
        holds = ordered(budget_, left, right, Order::less);
        break;
      case Comparison::less_equal:
        holds = ordered(budget_, left, right, Order::less_equal);
        break;
      case Comparison::greater:
        holds = ordered(budget_, left, right, Order::greater);
        break;
      case Comparison::greater_equal:
        holds = ordered(budget_, left, right, Order::greater_equal);
        break;
      case Comparison::in:
        holds = contains(budget_, right, left);
        break;
      case Comparison::not_in:
        holds = !contains(budget_, right, left);
        break;
    }
    if (!holds) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Arguments Interpreter::evaluate_arguments(const CallArgs& args) {
  Arguments given;
  given.positional = evaluate_all(args.positional);
  for (const auto& [name, value] : args.keyword) given.keyword.emplace_back(name, evaluate(*value));
  if (args.spread) {
    for (Value& item : to_items(evaluate(*args.spread))) {
      given.positional.push_back(std::move(item));
    }
  }
  if (args.keyword_spread) {
    const Value extra = evaluate(*args.keyword_spread);
    if (!extra.is(Kind::dict)) fail_type("the argument after ** must be a mapping");
    for (const auto& [key, value] : extra.as_dict().entries) {
      if (!key.is_string()) fail_type("keywords must be strings");
      given.keyword.emplace_back(key.bytes(), value);
    }
  }
  return given;
}

Value Interpreter::evaluate_call(const Expr& expr) {
  const Expr& callee = *expr.parts[0];
  if (callee.kind != Expr::Kind::attribute) {
    const Value function = evaluate(callee);
    return call(function, evaluate_arguments(*expr.args));
  }
  // A method is called on its value at once, without making an object of it.
  const Value self = evaluate(*callee.parts[0]);
  if (const Method method = find_method(self, callee.text)) {
    return method(*this, self, evaluate_arguments(*expr.args));
  }
  const Value function = get_attribute(self, callee.text);
  return call(function, evaluate_arguments(*expr.args));
}

Value Interpreter::evaluate_filter(const Expr& expr, const Value* input) {
  // The innermost filter of a block's chain has no operand: it takes the block's text.
  Value operand;
  if (!expr.parts[0]) {
    operand = *input;
  } else if (expr.parts[0]->kind == Expr::Kind::filter) {
    const Budget::Level level(budget_);
    operand = evaluate_filter(*expr.parts[0], input);
  } else {
    operand = evaluate(*expr.parts[0]);
  }
  if (!expr.filter) {
    throw JinjaError(Fault::value, fmt::format("No filter named '{}' found.", expr.text),
                     expr.line);
  }
  budget_.step();
  return expr.filter(*this, operand, evaluate_arguments(*expr.args));
}

Value Interpreter::evaluate_test(const Expr& expr) {
  const Value operand = evaluate(*expr.parts[0]);
  if (!expr.test) {
    throw JinjaError(Fault::value, fmt::format("No test named '{}' found.", expr.text), expr.line);
  }
  return Value::boolean(expr.test(*this, operand, evaluate_arguments(*expr.args)));
}

Value Interpreter::evaluate_item(const Expr& expr) {
  const Value object = evaluate(*expr.parts[0]);
  const Expr& index = *expr.parts[1];
  if (index.kind != Expr::Kind::slice) return get_item(object, evaluate(index));
  const auto bound = [&](size_t i) { return index.parts[i] ? evaluate(*index.parts[i]) : Value(); };
  const Value start = bound(0), stop = bound(1);
  return get_slice(object, start, stop, bound(2));
}

}  // namespace dure::jinja
