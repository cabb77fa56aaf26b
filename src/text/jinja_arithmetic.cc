// + - * / // % ** and the signs, with Python's rules for integers, floats, text and lists.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "text/jinja_ops.h"
#include "text/python_format.h"

namespace dure::jinja {
namespace {

std::string_view symbol(Operation operation) {
  switch (operation) {
    case Operation::add:
      return "+";
    case Operation::subtract:
      return "-";
    case Operation::multiply:
      return "*";
    case Operation::divide:
      return "/";
    case Operation::floor_divide:
      return "//";
    case Operation::modulo:
      return "%";
    case Operation::power:
      return "** or pow()";
  }
  return "+";
}

[[noreturn]] void fail_operands(Operation operation, const Value& a, const Value& b) {
  if (operation == Operation::add && a.is(Kind::text)) {
    fail_type(fmt::format("can only concatenate str (not \"{}\") to str", type_name(b)));
  }
  if (operation == Operation::add && a.is_sequence(SequenceKind::list)) {
    fail_type(fmt::format("can only concatenate list (not \"{}\") to list", type_name(b)));
  }
  fail_type(fmt::format("unsupported operand type(s) for {}: '{}' and '{}'", symbol(operation),
                        type_name(a), type_name(b)));
}

Value real_result(double value) {
  if (std::isinf(value)) fail_value("a float is too large");
  return Value::real(value);
}

double floor_modulo(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0 ? (rest < 0) != (b < 0) : false) rest += b;
  return rest == 0 ? std::copysign(0.0, b) : rest;
}

Value operate_reals(Operation operation, double a, double b) {
  switch (operation) {
    case Operation::add:
      return Value::real(a + b);
    case Operation::subtract:
      return Value::real(a - b);
    case Operation::multiply:
      return Value::real(a * b);
    case Operation::power:
      if (a == 0 && b < 0) fail_value("0.0 cannot be raised to a negative power");
      if (a < 0 && b != std::floor(b)) fail_value("a negative number has no real fractional power");
      if (!std::isfinite(a) || !std::isfinite(b)) return Value::real(std::pow(a, b));
      return real_result(std::pow(a, b));
    default:
      break;
  }
  if (b == 0) fail_value("division by zero");
  if (operation == Operation::divide) return Value::real(a / b);
  const double rest = floor_modulo(a, b);
  if (operation == Operation::modulo) return Value::real(rest);
  const double quotient = (a - rest) / b;
  return Value::real(std::floor(quotient + 0.5));
}

Value big_power(Budget& budget, BigInt base, int64_t exponent) {
  BigInt result(1);
  for (; exponent > 0; exponent >>= 1) {
    budget.step(100);
    if (exponent & 1) result = result * base;
    if (exponent > 1) base = base * base;
  }
  return Value::number(result);
}

Value integer_power(Budget& budget, const Value& a, const Value& b) {
  const BigInt base = to_big(a), exponent = to_big(b);
  if (exponent.negative()) return operate_reals(Operation::power, to_double(a), to_double(b));
  const auto small = exponent.to_int64();
  const auto unit = base.to_int64();
  if (unit && (*unit == 0 || *unit == 1)) return Value::integer(exponent.is_zero() ? 1 : *unit);
  if (unit && *unit == -1) {
    BigInt half, odd;
    BigInt::floor_divide(exponent, BigInt(2), half, odd);
    return Value::integer(odd.is_zero() ? 1 : -1);
  }
  constexpr int64_t largest = 20000;  // 2 ** 20000 has more digits than a number may have
  if (!small || *small > largest)
    throw JinjaError(Fault::limit, "a number of more than 4300 digits");
  return big_power(budget, base, *small);
}

Value operate_bigs(Budget& budget, Operation operation, const Value& a, const Value& b) {
  budget.step(16);
  const BigInt x = to_big(a), y = to_big(b);
  switch (operation) {
    case Operation::add:
      return Value::number(x + y);
    case Operation::subtract:
      return Value::number(x - y);
    case Operation::multiply:
      return Value::number(x * y);
    default:
      break;
  }
  if (y.is_zero()) fail_value("integer division or modulo by zero");
  budget.step(200);
  BigInt quotient, rest;
  BigInt::floor_divide(x, y, quotient, rest);
  return Value::number(operation == Operation::modulo ? rest : quotient);
}

Value operate_integers(Budget& budget, Operation operation, const Value& a, const Value& b) {
  if (operation == Operation::power) return integer_power(budget, a, b);
  if (operation == Operation::divide) {
    if (to_double(b) == 0) fail_value("division by zero");
    return real_result(to_double(a) / to_double(b));
  }
  if (a.is(Kind::big) || b.is(Kind::big)) return operate_bigs(budget, operation, a, b);
  const int64_t x = a.is(Kind::boolean) ? a.as_boolean() : a.as_integer();
  const int64_t y = b.is(Kind::boolean) ? b.as_boolean() : b.as_integer();
  int64_t out = 0;
  bool overflow = false;
  switch (operation) {
    case Operation::add:
      overflow = __builtin_add_overflow(x, y, &out);
      break;
    case Operation::subtract:
      overflow = __builtin_sub_overflow(x, y, &out);
      break;
    case Operation::multiply:
      overflow = __builtin_mul_overflow(x, y, &out);
      break;
    default:
      if (y == 0) fail_value("integer division or modulo by zero");
      overflow = y == -1;  // the smallest integer has no positive twin: leave it to the slow way
      if (overflow) break;
      out = operation == Operation::modulo ? x % y : x / y;
      if (x % y != 0 && (x < 0) != (y < 0)) out += operation == Operation::modulo ? y : -1;
      break;
  }
  return overflow ? operate_bigs(budget, operation, a, b) : Value::integer(out);
}

// `count` copies of a text, list or tuple.
Value repeat(Budget& budget, const Value& value, const Value& count) {
  const int64_t wanted = to_index(count, "the repeat count");
  const size_t times = wanted < 0 ? 0 : static_cast<size_t>(wanted);
  const auto fits = [&](size_t size, size_t limit) { return size == 0 || times <= limit / size; };
  if (value.is(Kind::text)) {
    const std::string& bytes = value.bytes();
    if (!fits(bytes.size(), budget.limits().text)) budget.check_text(budget.limits().text + 1);
    std::string out;
    if (!bytes.empty()) {
      out.reserve(bytes.size() * times);
      for (size_t i = 0; i < times; ++i) out += bytes;
    }
    return Value::text(std::move(out), &budget, value.as_text().kind);
  }
  const Sequence& sequence = value.as_sequence();
  if (!fits(sequence.items.size(), budget.limits().items)) {
    budget.check_items(budget.limits().items + 1);
  }
  std::vector<Value> out;
  if (!sequence.items.empty()) {
    out.reserve(sequence.items.size() * times);
    for (size_t i = 0; i < times; ++i) {
      out.insert(out.end(), sequence.items.begin(), sequence.items.end());
    }
  }
  return Value::sequence(std::move(out), sequence.kind, &budget);
}

bool repeatable(const Value& value) {
  return value.is(Kind::text) || value.is_sequence(SequenceKind::list) ||
         value.is_sequence(SequenceKind::tuple);
}

Value add_texts(Budget& budget, const Value& a, const Value& b) {
  const TextKind x = a.as_text().kind, y = b.as_text().kind;
  if ((x == TextKind::bytes) != (y == TextKind::bytes)) fail_operands(Operation::add, a, b);
  const bool markup = x == TextKind::markup || y == TextKind::markup;
  // Adding to markup escapes the other side, so that it stays markup.
  const Value left = markup ? escape_html(budget, a) : a;
  const Value right = markup ? escape_html(budget, b) : b;
  budget.check_text(left.bytes().size() + right.bytes().size());
  std::string out;
  out.reserve(left.bytes().size() + right.bytes().size());
  out += left.bytes();
  out += right.bytes();
  return Value::text(std::move(out), &budget, markup ? TextKind::markup : x);
}

Value add_sequences(Budget& budget, const Value& a, const Value& b) {
  const Sequence& x = a.as_sequence();
  const Sequence& y = b.as_sequence();
  budget.check_items(x.items.size() + y.items.size());
  std::vector<Value> out;
  out.reserve(x.items.size() + y.items.size());
  out = x.items;
  out.insert(out.end(), y.items.begin(), y.items.end());
  return Value::sequence(std::move(out), x.kind, &budget);
}

}  // namespace

double to_double(const Value& number) {
  switch (number.kind()) {
    case Kind::boolean:
      return number.as_boolean();
    case Kind::integer:
      return static_cast<double>(number.as_integer());
    case Kind::big:
      return number.as_big().to_double();
    default:
      return number.as_real();
  }
}

BigInt to_big(const Value& integral) {
  if (integral.is(Kind::big)) return integral.as_big();
  return BigInt(integral.is(Kind::boolean) ? integral.as_boolean() : integral.as_integer());
}

int64_t to_index(const Value& value, std::string_view what) {
  if (value.is_undefined()) fail_undefined(value);
  if (value.is(Kind::boolean)) return value.as_boolean();
  if (value.is(Kind::integer)) return value.as_integer();
  if (value.is(Kind::big)) fail_value(fmt::format("{} is too large", what));
  fail_type(fmt::format("{} must be an integer, not '{}'", what, type_name(value)));
}

Value operate(Budget& budget, Operation operation, const Value& a, const Value& b) {
  budget.step();
  if (a.is_number() && b.is_number()) {
    if (a.is(Kind::real) || b.is(Kind::real)) {
      return operate_reals(operation, to_double(a), to_double(b));
    }
    return operate_integers(budget, operation, a, b);
  }
  if (operation == Operation::modulo && a.is_string()) return py_percent_format(budget, a, b);
  if (a.is_undefined()) fail_undefined(a);
  if (b.is_undefined()) fail_undefined(b);
  if (operation == Operation::add) {
    if (a.is(Kind::text) && b.is(Kind::text)) return add_texts(budget, a, b);
    if (repeatable(a) && b.is(Kind::sequence) && a.is(Kind::sequence) &&
        a.as_sequence().kind == b.as_sequence().kind) {
      return add_sequences(budget, a, b);
    }
  }
  if (operation == Operation::multiply) {
    if (repeatable(a) && b.is_integral()) return repeat(budget, a, b);
    if (repeatable(b) && a.is_integral()) return repeat(budget, b, a);
  }
  fail_operands(operation, a, b);
}

Value negate(const Value& value) {
  if (value.is(Kind::real)) return Value::real(-value.as_real());
  if (value.is_integral()) return Value::number(-to_big(value));
  if (value.is_undefined()) fail_undefined(value);
  fail_type(fmt::format("bad operand type for unary -: '{}'", type_name(value)));
}

Value plus(const Value& value) {
  if (value.is(Kind::boolean)) return Value::integer(value.as_boolean());
  if (value.is_number()) return value;
  if (value.is_undefined()) fail_undefined(value);
  fail_type(fmt::format("bad operand type for unary +: '{}'", type_name(value)));
}

Value escape_html(Budget& budget, const Value& value) {
  if (value.is(Kind::text) && value.as_text().kind == TextKind::markup) return value;
  std::string out;
  for (const char c : to_str(budget, value)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return Value::text(std::move(out), &budget, TextKind::markup);
}

}  // namespace dure::jinja
