// The numbers between two bounds as arcs of an automaton, digit by digit, exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "grammar/automaton_builder.h"

namespace dure::grammar {

// Integers from low to high, both inclusive; none where a side is open. No leading zeros, no "-0".
void add_integer_range(AutomatonBuilder& builder, std::optional<int64_t> low,
                       std::optional<int64_t> high, StateId from, StateId to);

// A decimal number's magnitude and sign.
struct Decimal {
  bool negative = false;
  uint64_t whole = 0;
  std::string fraction;  // digits behind the point, without zeros at the end
};

// The exact decimal of a JSON number's shortest text; none if it has more than 18 digits before or
// 40 behind the point.
std::optional<Decimal> decimal_of(const std::string& json_number);

struct DecimalBound {
  Decimal value;
  bool strict = false;  // the bound itself is outside
};

// Decimal fractions between the bounds, without exponents; whole numbers among them. No "-0".
void add_decimal_range(AutomatonBuilder& builder, const std::optional<DecimalBound>& low,
                       const std::optional<DecimalBound>& high, StateId from, StateId to);

}  // namespace dure::grammar
