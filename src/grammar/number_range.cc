// See number_range.h. Below, a range is of magnitudes; negative numbers are a '-' and the range of
// the mirrored bounds.
#include "grammar/number_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace dure::grammar {
namespace {

uint8_t digit_at(const std::string& digits, size_t i) {
  return i < digits.size() ? static_cast<uint8_t>(digits[i]) : uint8_t{'0'};
}

// All texts of digits of one length between two such texts.
class SameLength {
 public:
  SameLength(AutomatonBuilder& builder, const std::string& low, const std::string& high, StateId to)
      : builder_(builder), low_(low), high_(high), to_(to) {}

  // tight: what was read equals the beginning of the bound.
  void add(StateId from, size_t at, bool tight_low, bool tight_high) {
    const uint8_t first = tight_low ? digit_at(low_, at) : uint8_t{'0'};
    const uint8_t last = tight_high ? digit_at(high_, at) : uint8_t{'9'};
    for (uint8_t digit = first; digit <= last;) {
      const bool low = tight_low && digit == first, high = tight_high && digit == last;
      uint8_t until = digit;  // digits that lead to the same state
      if (!low && !high) until = tight_high ? static_cast<uint8_t>(last - 1) : last;
      builder_.add_bytes(from, digit, until, after(at + 1, low, high));
      digit = static_cast<uint8_t>(until + 1);
    }
  }

 private:
  StateId after(size_t at, bool tight_low, bool tight_high) {
    if (at == low_.size()) return to_;
    const auto [found, fresh] = states_.try_emplace({at, tight_low, tight_high}, 0);
    if (fresh) {
      const StateId state = builder_.add_state();
      found->second = state;
      add(state, at, tight_low, tight_high);
      return state;
    }
    return found->second;
  }

  AutomatonBuilder& builder_;
  const std::string& low_;
  const std::string& high_;
  StateId to_;
  std::map<std::tuple<size_t, bool, bool>, StateId> states_;
};

// Whole numbers of any length above `digits` digits: no leading zero.
void add_longer(AutomatonBuilder& builder, size_t digits, StateId from, StateId to) {
  StateId at = builder.add_state();
  builder.add_bytes(from, '1', '9', at);
  for (size_t i = 1; i <= digits; ++i) {
    const StateId next = builder.add_state();
    builder.add_bytes(at, '0', '9', next);
    at = next;
  }
  builder.add_bytes(at, '0', '9', at);
  builder.add_epsilon(at, to);
}

void add_whole_range(AutomatonBuilder& builder, uint64_t low, std::optional<uint64_t> high,
                     StateId from, StateId to) {
  if (high && *high < low) return;
  const size_t shortest = fmt::format("{}", low).size();
  const size_t longest = high ? fmt::format("{}", *high).size() : shortest;
  for (size_t size = shortest; size <= longest; ++size) {
    std::string first = size == shortest ? fmt::format("{}", low) : std::string(size, '0');
    if (size > shortest) first[0] = '1';
    const std::string last =
        high && size == longest ? fmt::format("{}", *high) : std::string(size, '9');
    SameLength(builder, first, last, to).add(from, 0, true, true);
  }
  if (!high) add_longer(builder, longest, from, to);
}

struct Fraction {
  const std::string* digits = nullptr;  // none: no bound
  bool strict = false;
};

// What may follow a whole part that equals that of the bounds: nothing, or a point and digits.
class Fractions {
 public:
  Fractions(AutomatonBuilder& builder, Fraction low, Fraction high, StateId to)
      : builder_(builder), low_(low), high_(high), to_(to) {
    for (const Fraction& bound : {low, high}) {
      if (bound.digits != nullptr) length_ = std::max(length_, bound.digits->size());
    }
  }

  void add(StateId from) {
    if (fits(0, low_.digits != nullptr, high_.digits != nullptr)) builder_.add_epsilon(from, to_);
    const StateId point = builder_.add_state();
    builder_.add_bytes(from, '.', '.', point);
    add_digits(point, 0, low_.digits != nullptr, high_.digits != nullptr);
  }

 private:
  static bool nothing_left(const std::string& digits, size_t at) {
    return digits.find_first_not_of('0', at) == std::string::npos;
  }
  // Whether the number may end after `at` digits.
  bool fits(size_t at, bool tight_low, bool tight_high) const {
    if (tight_low &&
        (low_.strict || !nothing_left(*low_.digits, std::min(at, low_.digits->size())))) {
      return false;
    }
    return !tight_high || !high_.strict ||
           !nothing_left(*high_.digits, std::min(at, high_.digits->size()));
  }

  StateId after(size_t at, bool tight_low, bool tight_high) {
    at = std::min(at, length_);  // behind both bounds there are only zeros
    const auto [found, fresh] = states_.try_emplace({at, tight_low, tight_high}, 0);
    if (!fresh) return found->second;
    const StateId state = builder_.add_state();
    found->second = state;
    if (fits(at, tight_low, tight_high)) builder_.add_epsilon(state, to_);
    add_digits(state, at, tight_low, tight_high);
    return state;
  }

  void add_digits(StateId from, size_t at, bool tight_low, bool tight_high) {
    const uint8_t first = tight_low ? digit_at(*low_.digits, at) : uint8_t{'0'};
    const uint8_t last = tight_high ? digit_at(*high_.digits, at) : uint8_t{'9'};
    for (uint8_t digit = first; digit <= last;) {
      const bool low = tight_low && digit == first, high = tight_high && digit == last;
      uint8_t until = digit;
      if (!low && !high) until = tight_high ? static_cast<uint8_t>(last - 1) : last;
      builder_.add_bytes(from, digit, until, after(at + 1, low, high));
      digit = static_cast<uint8_t>(until + 1);
    }
  }

  AutomatonBuilder& builder_;
  Fraction low_, high_;
  StateId to_;
  size_t length_ = 0;
  std::map<std::tuple<size_t, bool, bool>, StateId> states_;
};

struct Magnitude {
  uint64_t whole = 0;
  std::string fraction;
  bool strict = false;
};

// Magnitudes from low to high (none: open).
void add_magnitudes(AutomatonBuilder& builder, const Magnitude& low,
                    const std::optional<Magnitude>& high, StateId from, StateId to) {
  if (high && high->whole < low.whole) return;
  const auto add_edge = [&](uint64_t whole, Fraction least, Fraction most) {
    const StateId after = builder.add_state();
    builder.add_text(from, fmt::format("{}", whole), after);
    Fractions(builder, least, most, to).add(after);
  };
  const Fraction least{&low.fraction, low.strict};
  if (high && high->whole == low.whole) {
    const std::string width(std::max(low.fraction.size(), high->fraction.size()), '0');
    const auto padded = [&](std::string digits) { return digits + width.substr(digits.size()); };
    if (padded(low.fraction) <= padded(high->fraction)) {
      add_edge(low.whole, least, {&high->fraction, high->strict});
    }
    return;
  }
  add_edge(low.whole, least, {});
  if (high) add_edge(high->whole, {}, {&high->fraction, high->strict});
  if (high && high->whole == low.whole + 1) return;
  const StateId between = builder.add_state();
  add_whole_range(builder, low.whole + 1, high ? std::optional(high->whole - 1) : std::nullopt,
                  from, between);
  Fractions(builder, {}, {}, to).add(between);
}

}  // namespace

void add_integer_range(AutomatonBuilder& builder, std::optional<int64_t> low,
                       std::optional<int64_t> high, StateId from, StateId to) {
  const auto magnitude = [](int64_t value) {
    return value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  };
  if (!low || *low < 0) {
    const StateId minus = builder.add_state();
    builder.add_bytes(from, '-', '-', minus);
    add_whole_range(builder, high && *high < 0 ? magnitude(*high) : 1,
                    low ? std::optional(magnitude(*low)) : std::nullopt, minus, to);
  }
  if (!high || *high >= 0) {
    add_whole_range(builder, low && *low > 0 ? magnitude(*low) : 0,
                    high ? std::optional(magnitude(*high)) : std::nullopt, from, to);
  }
}

std::optional<Decimal> decimal_of(const std::string& text) {
  constexpr long most_whole = 18, most_fraction = 40;
  Decimal out;
  size_t at = 0;
  if (text.starts_with('-')) {
    out.negative = true;
    at = 1;
  }
  std::string digits;
  long point = -1;
  for (; at < text.size() && text[at] != 'e' && text[at] != 'E'; ++at) {
    if (text[at] == '.') {
      point = static_cast<long>(digits.size());
    } else {
      digits.push_back(text[at]);
    }
  }
  if (point < 0) point = static_cast<long>(digits.size());
  if (at < text.size()) point += std::strtol(text.c_str() + at + 1, nullptr, 10);
  // Zeros at both ends carry no value.
  while (!digits.empty() && digits.back() == '0') digits.pop_back();
  const size_t leading = std::min(digits.find_first_not_of('0'), digits.size());
  digits.erase(0, leading);
  point -= static_cast<long>(leading);
  if (digits.empty()) return Decimal{};
  if (point > most_whole || static_cast<long>(digits.size()) - point > most_fraction) return {};
  const auto size = static_cast<long>(digits.size());
  std::string whole = digits.substr(0, static_cast<size_t>(std::clamp(point, 0L, size)));
  if (point > size) whole.append(static_cast<size_t>(point - size), '0');
  out.whole = whole.empty() ? 0 : std::strtoull(whole.c_str(), nullptr, 10);
  if (point < size) {
    out.fraction.assign(static_cast<size_t>(std::max(0L, -point)), '0');
    out.fraction += digits.substr(static_cast<size_t>(std::max(0L, point)));
  }
  return out;
}

void add_decimal_range(AutomatonBuilder& builder, const std::optional<DecimalBound>& low,
                       const std::optional<DecimalBound>& high, StateId from, StateId to) {
  const auto magnitude = [](const DecimalBound& bound) {
    return Magnitude{bound.value.whole, bound.value.fraction, bound.strict};
  };
  const auto is_zero = [](const Decimal& value) {
    return value.whole == 0 && value.fraction.empty();
  };
  if (!low || low->value.negative) {
    const StateId minus = builder.add_state();
    builder.add_bytes(from, '-', '-', minus);
    const bool ends_below_zero = high && high->value.negative;
    add_magnitudes(builder, ends_below_zero ? magnitude(*high) : Magnitude{0, "", true},
                   low ? std::optional(magnitude(*low)) : std::nullopt, minus, to);
  }
  if (!high || !high->value.negative) {
    const bool begins_above = low && !low->value.negative;
    if (begins_above && high && is_zero(low->value) && is_zero(high->value) &&
        (low->strict || high->strict)) {
      return;
    }
    add_magnitudes(builder, begins_above ? magnitude(*low) : Magnitude{},
                   high ? std::optional(magnitude(*high)) : std::nullopt, from, to);
  }
}

}  // namespace dure::grammar
