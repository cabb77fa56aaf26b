// Python's two ways to format text: "..." % values and "...".format(values).
#pragma once

#include <string>
#include <string_view>

#include "text/jinja_object.h"
#include "text/jinja_value.h"

namespace dure::jinja {

// format % values: a tuple gives several values, a dict named ones, anything else one.
Value py_percent_format(Budget& budget, const Value& format, const Value& values);

// self.format(*positional, **keyword), attributes and items looked up by the sandbox's rules.
Value py_format(Interpreter& run, const Value& self, const Arguments& arguments);

// format(value, spec): the mini-language behind the colon of a replacement field.
std::string py_format_value(Budget& budget, const Value& value, std::string_view spec);

// How a number is laid out, shared by both ways.
struct NumberLayout {
  char type = 0;       // d x X o b c e E f F g G %, 0 for the default of the value
  int precision = -1;  // digits; -1 when not given
  char sign = '-';     // '-', '+' or ' '
  bool alternate = false;
  char grouping = 0;  // ',' or '_'
};
// Sign and prefix apart from the digits, so that zeros can go between.
struct NumberText {
  std::string sign, digits;
};
NumberText layout_real(double value, const NumberLayout& layout);
NumberText layout_integer(const BigInt& value, const NumberLayout& layout);

}  // namespace dure::jinja
