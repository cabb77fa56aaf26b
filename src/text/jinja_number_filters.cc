// Filters that give numbers.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "text/jinja_filter_support.h"
#include "text/jinja_number.h"
#include "text/python_format.h"
#include "text/python_unicode.h"

namespace dure::jinja {
namespace {

Value abs(Interpreter&, const Value& input, const Arguments& arguments) {
  bind(arguments, "abs", {});
  if (input.is(Kind::real)) return Value::real(std::fabs(input.as_real()));
  if (input.is_undefined()) fail_undefined(input);
  if (!input.is_integral()) fail_type("bad operand type for abs(): '" + type_name(input) + "'");
  const BigInt value = to_big(input);
  return Value::number(value.negative() ? -value : value);
}

Value to_int(Interpreter&, const Value& input, const Arguments& arguments) {
  const auto given = bind(arguments, "int", {"default", "base"});
  const Value fallback = given[0].value_or(Value::integer(0));
  if (input.is_undefined()) fail_undefined(input);
  if (input.is_integral()) return Value::number(to_big(input));
  if (input.is(Kind::real)) {
    const double value = input.as_real();
    return std::isfinite(value) ? Value::number(BigInt::from_double(value)) : fallback;
  }
  if (!input.is_string()) return fallback;
  const int64_t base = given[1] ? to_index(*given[1], "the base") : 10;
  if (const auto whole = parse_integer(input.bytes(), base)) return Value::number(*whole);
  const auto real = parse_real(input.bytes());
  return real && std::isfinite(*real) ? Value::number(BigInt::from_double(*real)) : fallback;
}

Value to_float(Interpreter&, const Value& input, const Arguments& arguments) {
  const auto given = bind(arguments, "float", {"default"});
  const Value fallback = given[0].value_or(Value::real(0));
  if (input.is_undefined()) fail_undefined(input);
  if (input.is_number()) return Value::real(to_double(input));
  if (!input.is_string()) return fallback;
  const auto real = parse_real(input.bytes());
  return real ? Value::real(*real) : fallback;
}

// Python's round: exactly half goes to the even neighbour, decided on the decimal value.
double round_half_even(double value, int64_t digits) {
  if (!std::isfinite(value) || digits > 330) return value;
  if (digits < -330) return std::copysign(0.0, value);
  if (digits < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-digits));
    return std::nearbyint(value / unit) * unit;
  }
  NumberLayout layout;
  layout.type = 'f';
  layout.precision = static_cast<int>(digits);
  const NumberText text = layout_real(value, layout);
  return std::strtod((text.sign + text.digits).c_str(), nullptr);
}

Value round_integer(const Value& input, int64_t digits) {
  if (digits >= 0) return Value::number(to_big(input));
  if (digits < -1000) return Value::integer(0);
  BigInt unit(1);
  for (int64_t i = digits; i < 0; ++i) unit = unit * BigInt(10);
  BigInt quotient, rest, odd, half;
  BigInt::floor_divide(to_big(input), unit, quotient, rest);
  BigInt::floor_divide(quotient, BigInt(2), half, odd);
  const int order = compare(rest + rest, unit);
  if (order > 0 || (order == 0 && !odd.is_zero())) quotient = quotient + BigInt(1);
  return Value::number(quotient * unit);
}

Value round(Interpreter&, const Value& input, const Arguments& arguments) {
  const auto given = bind(arguments, "round", {"precision", "method"});
  const int64_t digits = given[0] ? to_index(*given[0], "the precision") : 0;
  std::string method = "common";
  if (given[1] && given[1]->is_string()) method = given[1]->bytes();
  if (method != "common" && method != "ceil" && method != "floor") {
    fail_value("method must be common, ceil or floor");
  }
  if (input.is_undefined()) fail_undefined(input);
  if (!input.is_number()) {
    fail_type(fmt::format("type {} doesn't define __round__ method", type_name(input)));
  }
  if (method == "common") {
    if (input.is_integral()) return round_integer(input, digits);
    return Value::real(round_half_even(input.as_real(), digits));
  }
  const double unit = std::pow(10.0, static_cast<double>(digits));
  const double scaled = to_double(input) * unit;
  const double whole = method == "ceil" ? std::ceil(scaled) : std::floor(scaled);
  if (!std::isfinite(whole) || unit == 0) fail_value("cannot convert float to integer");
  return Value::real(whole / unit);
}

Value filesizeformat(Interpreter& run, const Value& input, const Arguments& arguments) {
  const auto given = bind(arguments, "filesizeformat", {"binary"});
  const bool binary = flag(given[0], false);
  const double base = binary ? 1024 : 1000;
  const Value number = to_float(run, input, {});
  const double bytes = number.as_real();
  if (bytes == 1) return run.text("1 Byte");
  if (bytes < base) return run.text(fmt::format("{} Bytes", static_cast<int64_t>(bytes)));
  const char* prefixes = "kMGTPEZY";
  double unit = base;
  int i = 0;
  while (i < 7 && bytes >= unit * base) {
    unit *= base;
    ++i;
  }
  std::string prefix(1, prefixes[i]);
  if (binary) prefix = std::string(1, static_cast<char>(::toupper(prefixes[i]))) + "i";
  return run.text(fmt::format("{:.1f} {}B", bytes / unit, prefix));
}

constexpr FilterEntry entries[] = {
    {"abs", &abs},
    {"int", &to_int},
    {"float", &to_float},
    {"round", &round},
    {"filesizeformat", &filesizeformat},
};

}  // namespace

std::span<const FilterEntry> number_filters() {
  return entries;
}

}  // namespace dure::jinja
