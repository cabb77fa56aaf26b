// Numbers from text, as Python's int() and float() read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "text/jinja_bigint.h"

namespace dure::jinja {

// White space around, a sign, single underscores between digits, and a prefix that fits the base
// (base 0 takes it from the prefix). nullopt for anything else.
std::optional<BigInt> parse_integer(std::string_view text, int64_t base);
std::optional<double> parse_real(std::string_view text);

}  // namespace dure::jinja
