// Enumerated values, numbers and strings of a schema; see json_schema.h.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "grammar/bounded_pattern.h"
#include "grammar/emit.h"
#include "grammar/json_schema.h"
#include "grammar/number_range.h"
#include "grammar/regex_parser.h"
#include "grammar/string_format.h"

namespace dure::grammar {
namespace {

size_t characters_of(const std::string& text) {
  size_t count = 0;
  for (const char byte : text) count += (static_cast<uint8_t>(byte) & 0xC0) != 0x80 ? 1 : 0;
  return count;
}

// Whether a listed value also satisfies the limits beside the list.
bool within(const FlatSchema& flat, const Json& value) {
  if ((type_of(value) & flat.meant()) == 0) return false;
  if (value.is_number()) {
    const double number = value.get<double>();
    const auto outside = [&](const NumberBound& bound, double sign) {
      if (bound.value == nullptr) return false;
      const double over = sign * (number - bound.value->get<double>());
      return over > 0 || (over == 0 && bound.strict);
    };
    return !outside(flat.low, -1) && !outside(flat.high, 1);
  }
  if (value.is_string()) {
    const size_t size = characters_of(value.get_ref<const std::string&>());
    return size >= flat.length.low && size <= flat.length.high;
  }
  return true;
}

// What is left of a value that should be whole, as the nearest whole number inside the bound.
std::optional<int64_t> whole_bound(const NumberBound& bound, bool low, bool& too_large) {
  if (bound.value == nullptr) return std::nullopt;
  constexpr int64_t largest = INT64_MAX - 1;
  int64_t out = 0;
  if (bound.value->is_number_unsigned()) {
    const auto value = bound.value->get<uint64_t>();
    if (value > static_cast<uint64_t>(largest)) too_large = true;
    out = too_large ? 0 : static_cast<int64_t>(value);
  } else if (bound.value->is_number_integer()) {
    out = bound.value->get<int64_t>();
    if (out <= INT64_MIN + 1) too_large = true;
  } else {
    const auto value = bound.value->get<double>();
    const double whole = low ? std::ceil(value) : std::floor(value);
    if (std::abs(whole) > 9e15) too_large = true;
    if (too_large) return 0;
    out = static_cast<int64_t>(whole);
    if (whole != value) return out;  // the bound itself is no whole number
  }
  if (too_large) return 0;
  return bound.strict ? out + (low ? 1 : -1) : out;
}

}  // namespace

void SchemaCompiler::add_values(const Json& where, const FlatSchema& flat, StateId from,
                                StateId to) {
  constexpr unsigned plain = types::all & ~(types::array | types::object);
  const bool beyond = !flat.patterns.empty() || !flat.properties.empty() ||
                      !flat.required.empty() || flat.additional || flat.items || flat.prefix ||
                      flat.item_count.limited() || flat.property_count.limited() ||
                      !flat.names.empty() || flat.pattern_property;
  if (beyond) {
    document_.refuse(where, flat.values->size() == 1 ? "const" : "enum",
                     "a list of values beside keywords about their contents",
                     "leave the other keywords out: the values are listed already");
  }
  std::vector<std::string> texts;
  for (const Json* value : *flat.values) {
    if (!within(flat, *value)) continue;
    if (type_of(*value) & plain) {
      texts.push_back(value->dump());
    } else {
      add_value(*value, from, to);
    }
  }
  if (!texts.empty()) builder_.add_choice(from, std::move(texts), to);
}

void SchemaCompiler::add_value(const Json& value, StateId from, StateId to) {
  if (!value.is_structured()) return builder_.add_text(from, value.dump(), to);
  const bool object = value.is_object();
  StateId at = builder_.add_state();
  json_.add_open(from, object ? '{' : '[', at);
  bool first = true;
  for (const auto& [key, part] : value.items()) {
    const auto separate = [&](char mark) {
      const StateId next = builder_.add_state();
      json_.add_separator(at, mark, next);
      at = next;
    };
    if (!first) separate(',');
    first = false;
    if (object) {
      const StateId after = builder_.add_state();
      builder_.add_text(at, Json(key).dump(), after);
      at = after;
      separate(':');
    }
    const StateId after = builder_.add_state();
    add_value(part, at, after);
    at = after;
  }
  json_.add_close(at, object ? '}' : ']', to);
}

void SchemaCompiler::add_number(const Json& where, const FlatSchema& flat, StateId from,
                                StateId to) {
  const bool fractions = (flat.meant() & types::fraction) != 0;
  if (flat.low.value == nullptr && flat.high.value == nullptr) {
    builder_.add_call(from, fractions ? json_.number() : json_.integer(), 1, 1, to);
    return;
  }
  const char* const keyword = flat.low.value != nullptr ? "minimum" : "maximum";
  if (!fractions) {
    bool too_large = false;
    const auto low = whole_bound(flat.low, true, too_large);
    const auto high = whole_bound(flat.high, false, too_large);
    if (too_large) document_.refuse(where, keyword, "a bound of an integer beyond 64 bits");
    if (low && high && *low > *high) {
      document_.refuse(where, keyword, "no integer lies between the bounds");
    }
    add_integer_range(builder_, low, high, from, to);
    return;
  }
  const auto bound_of = [&](const NumberBound& bound) -> std::optional<DecimalBound> {
    if (bound.value == nullptr) return std::nullopt;
    const auto decimal = decimal_of(bound.value->dump());
    if (!decimal) {
      document_.refuse(where, keyword,
                       "a bound of more than 18 digits before or 40 behind the point");
    }
    return DecimalBound{*decimal, bound.strict};
  };
  if (flat.low.value != nullptr && flat.high.value != nullptr) {
    const double low = flat.low.value->get<double>(), high = flat.high.value->get<double>();
    if (low > high || (low == high && (flat.low.strict || flat.high.strict))) {
      document_.refuse(where, keyword, "no number lies between the bounds");
    }
  }
  add_decimal_range(builder_, bound_of(flat.low), bound_of(flat.high), from, to);
}

void SchemaCompiler::add_string(const Json& where, const FlatSchema& flat, StateId from,
                                StateId to) {
  if (flat.length.low > flat.length.high) {
    document_.refuse(where, "minLength", "more than maxLength");
  }
  const bool held =
      flat.format != nullptr &&
      string_format_kind(flat.format->get_ref<const std::string&>()) != FormatKind::annotation;
  if (!flat.patterns.empty() || held) return add_pattern_string(where, flat, from, to);
  if (!flat.length.limited()) {
    builder_.add_call(from, json_.string(), 1, 1, to);
    return;
  }
  const StateId inside = builder_.add_state(), quote = builder_.add_state();
  builder_.add_bytes(from, '"', '"', inside);
  builder_.add_call(inside, json_.character(), flat.length.low, flat.length.high, quote);
  builder_.add_bytes(quote, '"', '"', to);
}

void SchemaCompiler::add_pattern_string(const Json& where, const FlatSchema& flat, StateId from,
                                        StateId to) {
  const bool with_format =
      flat.format != nullptr &&
      string_format_kind(flat.format->get_ref<const std::string&>()) != FormatKind::annotation;
  if (flat.patterns.size() + (with_format ? 1 : 0) > 1) {
    document_.refuse(where, "pattern", "one string cannot be held to two patterns or formats");
  }
  Expression pattern;
  if (with_format) {
    const std::string& format = flat.format->get_ref<const std::string&>();
    if (string_format_kind(format) == FormatKind::refused) {
      document_.refuse(where, "format", fmt::format("the format \"{}\" is not supported", format),
                       "supported: date, time, date-time, duration, uuid, hostname, email, ipv4, "
                       "ipv6, uri; or use a pattern");
    }
    pattern = parse_regex(string_format_pattern(format), "json_schema: format");
  } else {
    pattern =
        parse_regex_search(flat.patterns[0]->get_ref<const std::string&>(), "json_schema: pattern");
  }
  const StateId inside = builder_.add_state(), quote = builder_.add_state();
  builder_.add_bytes(from, '"', '"', inside);
  if (flat.length.limited()) {
    add_bounded_pattern(builder_, Encoding::json_string, pattern, flat.length.low, flat.length.high,
                        "json_schema: pattern", inside, quote);
  } else {
    Emitter(builder_, Encoding::json_string).emit(pattern, inside, quote);
  }
  builder_.add_bytes(quote, '"', '"', to);
}

}  // namespace dure::grammar
