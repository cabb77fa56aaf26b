// See units.h.
#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <span>

#include "base/error.h"

namespace dure {
namespace {

struct Unit {
  std::string_view suffix;
  double factor;
};

constexpr double kib = 1024.0;
constexpr std::array byte_units = {
    Unit{"", 1},
    Unit{"b", 1},
    Unit{"kb", 1e3},
    Unit{"mb", 1e6},
    Unit{"gb", 1e9},
    Unit{"tb", 1e12},
    Unit{"pb", 1e15},
    Unit{"kib", kib},
    Unit{"mib", kib* kib},
    Unit{"gib", kib* kib* kib},
    Unit{"tib", kib* kib* kib* kib},
    Unit{"pib", kib* kib* kib* kib* kib},
};
constexpr std::array count_units = {
    Unit{"", 1}, Unit{"k", 1e3}, Unit{"m", 1e6}, Unit{"b", 1e9}, Unit{"t", 1e12},
};

int64_t parse(std::string_view text, std::string_view what, std::span<const Unit> units,
              const char* hint) {
  const auto refuse = [&]() {
    throw_bad_input(fmt::format("{}: cannot read '{:.60}' as a size", what, text), hint,
                    std::string(what));
  };
  double number = 0;
  const auto [end, status] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (status != std::errc() || text.empty() || text[0] == '-') refuse();
  std::string suffix;
  for (const char* at = end; at != text.data() + text.size(); ++at) {
    if (*at == ' ' && suffix.empty()) continue;
    suffix += *at >= 'A' && *at <= 'Z' ? static_cast<char>(*at - 'A' + 'a') : *at;
  }
  constexpr double largest = 4611686018427387904.0;  // 2^62
  for (const Unit& unit : units) {
    if (unit.suffix != suffix) continue;
    const double value = std::round(number * unit.factor);
    if (!(value >= 1 && value <= largest)) {
      throw_bad_input(
          fmt::format("{}: '{:.60}' is not between 1 and 2^62", what, text),
          value > 1 ? "it is more than could be counted" : "write a number of at least 1",
          std::string(what));
    }
    return static_cast<int64_t>(value);
  }
  refuse();
  return 0;
}

}  // namespace

int64_t parse_bytes(std::string_view text, std::string_view what) {
  return parse(text, what, byte_units, "write a memory size as 80GB (decimal) or 80GiB (binary)");
}

int64_t parse_count(std::string_view text, std::string_view what) {
  return parse(text, what, count_units, "write a count as 4096, 128K, 70B or 1.5T");
}

double parse_seconds(std::string_view text, std::string_view what) {
  constexpr std::array units = {Unit{"us", 1e-6}, Unit{"ms", 1e-3}, Unit{"s", 1.0},
                                Unit{"min", 60.0}};
  constexpr double longest = 366.0 * 86400.0;
  double number = 0;
  const auto [end, status] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const std::string_view suffix(end, static_cast<size_t>(text.data() + text.size() - end));
  for (const Unit& unit : units) {
    const double seconds = number * unit.factor;
    if (status == std::errc() && unit.suffix == suffix && seconds > 0.0 && seconds <= longest) {
      return seconds;
    }
  }
  throw_bad_input(fmt::format("{}: cannot read '{:.60}' as a time", what, text),
                  "write a time above 0 with its unit: 30ms, 1.5s", std::string(what));
}

std::string format_seconds(double seconds) {
  if (seconds == 0.0) return "0 s";
  const double size = std::abs(seconds);
  const bool is_micro = size < 0.9995e-3;
  const bool is_milli = !is_micro && size < 0.9995;
  const double value = seconds * (is_micro ? 1e6 : is_milli ? 1e3 : 1.0);
  const int decimals = std::abs(value) < 9.995 ? 2 : std::abs(value) < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, is_micro ? "µs" : is_milli ? "ms" : "s");
}

std::string format_bytes(int64_t bytes) {
  constexpr std::array names = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (std::abs(value) >= kib && unit + 1 < names.size()) {
    value /= kib;
    ++unit;
  }
  if (unit == 0) return fmt::format("{} B", bytes);
  return fmt::format("{:.{}f} {}", value, std::abs(value) < 100 ? 2 : 1, names[unit]);
}

std::string format_decimal_bytes(int64_t bytes) {
  constexpr std::array names = {"B", "kB", "MB", "GB", "TB", "PB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (std::abs(value) >= 1000.0 && unit + 1 < names.size()) {
    value /= 1000.0;
    ++unit;
  }
  std::string text = fmt::format("{:.{}f}", value, std::abs(value) < 100 ? 2 : 1);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text + ' ' + names[unit];
}

std::string format_count(int64_t count) {
  std::string text = std::to_string(count);
  const size_t first = count < 0 ? 1 : 0;
  for (size_t at = text.size(); at > first + 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

}  // namespace dure
