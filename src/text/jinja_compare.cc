// Equality, order and membership of values.
#include <fmt/format.h>

#include <cmath>

#include "text/jinja_ops.h"
#include "text/python_unicode.h"

namespace dure::jinja {
namespace {

// -1, 0, 1; 2 when one of them is not a number.
int compare_numbers(const Value& a, const Value& b) {
  if (a.is(Kind::real) || b.is(Kind::real)) {
    const double x = to_double(a), y = to_double(b);
    if (std::isnan(x) || std::isnan(y)) return 2;
    if (std::isfinite(x) && std::isfinite(y) && !(a.is(Kind::real) && b.is(Kind::real))) {
      // A whole number and a float compare exactly, as in Python.
      const BigInt p = a.is(Kind::real) ? BigInt::from_double(std::floor(x)) : to_big(a);
      const BigInt q = b.is(Kind::real) ? BigInt::from_double(std::floor(y)) : to_big(b);
      if (const int order = compare(p, q)) return order;
      if (a.is(Kind::real)) return x == std::floor(x) ? 0 : 1;
      return y == std::floor(y) ? 0 : -1;
    }
    return x < y ? -1 : x > y ? 1 : 0;
  }
  if (a.is(Kind::big) || b.is(Kind::big)) return compare(to_big(a), to_big(b));
  const int64_t x = a.is(Kind::boolean) ? a.as_boolean() : a.as_integer();
  const int64_t y = b.is(Kind::boolean) ? b.as_boolean() : b.as_integer();
  return x < y ? -1 : x > y ? 1 : 0;
}

bool equal_items(Budget& budget, const std::vector<Value>& a, const std::vector<Value>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!equal(budget, a[i], b[i])) return false;
  }
  return true;
}

bool equal_dicts(Budget& budget, const Dict& a, const Dict& b) {
  if (a.entries.size() != b.entries.size()) return false;
  for (const auto& [key, value] : a.entries) {
    const Value* other = b.find(key);
    if (!other || !equal(budget, value, *other)) return false;
  }
  return true;
}

bool by_sign(int sign, Order order) {
  if (sign == 2) return false;
  switch (order) {
    case Order::less:
      return sign < 0;
    case Order::less_equal:
      return sign <= 0;
    case Order::greater:
      return sign > 0;
    case Order::greater_equal:
      return sign >= 0;
  }
  return false;
}

std::string_view sign_text(Order order) {
  switch (order) {
    case Order::less:
      return "<";
    case Order::less_equal:
      return "<=";
    case Order::greater:
      return ">";
    case Order::greater_equal:
      return ">=";
  }
  return "<";
}

}  // namespace

bool equal(Budget& budget, const Value& a, const Value& b) {
  budget.step();
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.kind() != b.kind()) return false;
  const Budget::Level level(budget);
  switch (a.kind()) {
    case Kind::undefined:
    case Kind::none:
      return true;
    case Kind::text:
      budget.step_text(std::min(a.bytes().size(), b.bytes().size()));
      return a.is_string() == b.is_string() && a.bytes() == b.bytes();
    case Kind::sequence:
      return a.as_sequence().kind == b.as_sequence().kind &&
             equal_items(budget, a.as_sequence().items, b.as_sequence().items);
    case Kind::dict:
      return equal_dicts(budget, a.as_dict(), b.as_dict());
    default:
      return a.same_as(b);
  }
}

bool equal_keys(const Value& a, const Value& b) {
  const auto refuse = [](const Value& key) {
    const bool list = key.is(Kind::sequence) && !key.is_sequence(SequenceKind::tuple);
    if (list || key.is(Kind::dict)) fail_type("unhashable type: '" + type_name(key) + "'");
    // Comparing keys is not counted, so they stay short.
    constexpr size_t longest = 64;
    if (key.is(Kind::sequence) &&
        (key.as_sequence().items.size() > longest || key.as_sequence().nesting > 1)) {
      throw JinjaError(Fault::limit, "a tuple that is nested or long is used as a dictionary key");
    }
  };
  refuse(a);
  refuse(b);
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.is(Kind::sequence) && b.is(Kind::sequence)) {
    const auto& x = a.as_sequence().items;
    const auto& y = b.as_sequence().items;
    bool same = x.size() == y.size();
    for (size_t i = 0; i < x.size(); ++i) same = same && i < y.size() && equal_keys(x[i], y[i]);
    return same;
  }
  if (a.is_undefined() && b.is_undefined()) return true;
  return a.same_as(b);
}

bool ordered(Budget& budget, const Value& a, const Value& b, Order order) {
  const Budget::Level level(budget);
  budget.step();
  if (a.is_undefined()) fail_undefined(a);
  if (b.is_undefined()) fail_undefined(b);
  if (a.is_number() && b.is_number()) return by_sign(compare_numbers(a, b), order);
  if (a.is_string() && b.is_string()) {
    budget.step_text(std::min(a.bytes().size(), b.bytes().size()));
    return by_sign(a.bytes().compare(b.bytes()) < 0 ? -1 : a.bytes() == b.bytes() ? 0 : 1, order);
  }
  if (a.is(Kind::sequence) && b.is(Kind::sequence) &&
      a.as_sequence().kind == b.as_sequence().kind &&
      (a.is_sequence(SequenceKind::list) || a.is_sequence(SequenceKind::tuple))) {
    const auto& x = a.as_sequence().items;
    const auto& y = b.as_sequence().items;
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      if (!equal(budget, x[i], y[i])) return ordered(budget, x[i], y[i], order);
    }
    return by_sign(x.size() < y.size() ? -1 : x.size() > y.size() ? 1 : 0, order);
  }
  fail_type(fmt::format("'{}' not supported between instances of '{}' and '{}'", sign_text(order),
                        type_name(a), type_name(b)));
}

bool contains(Budget& budget, const Value& container, const Value& item) {
  budget.step();
  switch (container.kind()) {
    case Kind::undefined:
      return false;
    case Kind::text:
      if (!container.is_string()) break;
      if (item.is_undefined()) fail_undefined(item);
      if (!item.is_string()) {
        fail_type("'in <string>' requires string as left operand, not " + type_name(item));
      }
      budget.step_text(container.bytes().size());
      return find_text(container.bytes(), item.bytes()) != std::string::npos;
    case Kind::sequence:
      for (const Value& candidate : container.as_sequence().items) {
        if (equal(budget, candidate, item)) return true;
      }
      return false;
    case Kind::dict:
      return container.as_dict().find(item) != nullptr;
    default:
      break;
  }
  fail_type("argument of type '" + type_name(container) + "' is not iterable");
}

}  // namespace dure::jinja
