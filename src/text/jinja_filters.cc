// Which filters there are, and the helpers they share.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "text/jinja_filter_support.h"
#include "text/python_unicode.h"

namespace dure::jinja {

Filter find_filter(std::string_view name) {
  static const auto filters = [] {
    std::unordered_map<std::string_view, Filter> all;
    for (const auto group : {text_filters(), number_filters(), sequence_filters(),
                             selection_filters(), order_filters()}) {
      for (const FilterEntry& entry : group) all.emplace(entry.name, entry.filter);
    }
    return all;
  }();
  const auto found = filters.find(name);
  return found == filters.end() ? nullptr : found->second;
}

bool is_refused_filter(std::string_view name) {
  // Random output has no place in a prompt, and the others only make sense for web pages.
  constexpr std::array<std::string_view, 3> refused = {"random", "urlize", "pprint"};
  return std::find(refused.begin(), refused.end(), name) != refused.end();
}

AttributePath::AttributePath(const Value& attribute) {
  if (attribute.is(Kind::integer)) {
    steps_.push_back(attribute);
    return;
  }
  if (!attribute.is_string()) {
    fail_type("an attribute must be a text or an integer, not " + type_name(attribute));
  }
  std::string_view rest = attribute.bytes();
  while (true) {
    const size_t dot = std::min(rest.find('.'), rest.size());
    const std::string_view part = rest.substr(0, dot);
    const bool digits = !part.empty() && std::all_of(part.begin(), part.end(),
                                                     [](char c) { return c >= '0' && c <= '9'; });
    const auto index = digits ? BigInt::from_digits(part, 10) : std::nullopt;
    steps_.push_back(index ? Value::number(*index) : Value::text(std::string(part)));
    if (dot == rest.size()) break;
    rest = rest.substr(dot + 1);
  }
}

Value AttributePath::get(Interpreter& run, const Value& item, const Value* fallback) const {
  Value value = item;
  for (const Value& step : steps_) {
    value = run.get_item(value, step);
    if (fallback && value.is_undefined()) value = *fallback;
  }
  return value;
}

Value without_case(Interpreter& run, const Value& value) {
  if (!value.is_string()) return value;
  run.budget().step_text(value.bytes().size());
  return run.text(py_lower(value.bytes()));
}

}  // namespace dure::jinja
