// What Python's operators and built-in functions do with values: truth, text, equality, order,
// arithmetic. Every one counts its work in the budget, so that shared values nested in each other
// cannot multiply.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "text/jinja_value.h"

namespace dure::jinja {

bool truth(const Value& value);

void append_str(Budget& budget, std::string& out, const Value& value);   // str(value)
void append_repr(Budget& budget, std::string& out, const Value& value);  // repr(value)
std::string to_str(Budget& budget, const Value& value);

bool equal(Budget& budget, const Value& a, const Value& b);
// a < b, and the other comparisons by their Python sign; values without an order are type errors.
enum class Order { less, less_equal, greater, greater_equal };
bool ordered(Budget& budget, const Value& a, const Value& b, Order order);
bool contains(Budget& budget, const Value& container, const Value& item);

enum class Operation { add, subtract, multiply, divide, floor_divide, modulo, power };
Value operate(Budget& budget, Operation operation, const Value& a, const Value& b);
Value negate(const Value& value);
Value plus(const Value& value);

// Raises the value's own fault.
[[noreturn]] void fail_undefined(const Value& value);

double to_double(const Value& number);
BigInt to_big(const Value& integral);
// An integer argument of a function; a type error unless the value is integral and fits.
int64_t to_index(const Value& value, std::string_view what);

Value escape_html(Budget& budget, const Value& value);  // as markup; markup stays as it is

}  // namespace dure::jinja
