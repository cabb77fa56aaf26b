// map, select, reject and their kin: lazy, as in Jinja, so that a walk that stops early does no
// more.
#include <fmt/format.h>

#include "text/jinja_filter_support.h"

namespace dure::jinja {
namespace {

// The arguments behind the first `used` positional ones.
Arguments rest_of(const Arguments& arguments, size_t used) {
  Arguments rest;
  rest.positional.assign(arguments.positional.begin() + static_cast<long>(used),
                         arguments.positional.end());
  rest.keyword = arguments.keyword;
  return rest;
}

std::string name_argument(const Arguments& arguments, size_t at, std::string_view what) {
  const Value& value = arguments.positional[at];
  if (!value.is_string()) fail_type(fmt::format("{} must be named by a text", what));
  return value.bytes();
}

using Convert = std::function<Value(Interpreter&, const Value&)>;

Convert by_attribute(const Arguments& arguments) {
  const auto given = bind(arguments, "map", {"attribute", "default"});
  return
      [path = AttributePath(*given[0]), fallback = given[1]](Interpreter& run, const Value& item) {
        return path.get(run, item, fallback ? &*fallback : nullptr);
      };
}

Convert by_filter(const Arguments& arguments) {
  if (arguments.positional.empty()) fail_value("map requires a filter argument");
  const std::string name = name_argument(arguments, 0, "a filter");
  const Filter filter = find_filter(name);
  if (!filter) fail_value(fmt::format("No filter named '{}'.", name));
  return [filter, rest = rest_of(arguments, 1)](Interpreter& run, const Value& item) {
    return filter(run, item, rest);
  };
}

Value map(Interpreter& run, const Value& input, const Arguments& arguments) {
  if (input.is_undefined()) return run.list({});
  bool attribute = false;
  for (const auto& [name, value] : arguments.keyword) attribute |= name == "attribute";
  const Convert convert =
      arguments.positional.empty() && attribute ? by_attribute(arguments) : by_filter(arguments);
  auto items = std::make_shared<Iterator>(run, input);
  return run.generator([items, convert](Interpreter& inner, Value& out) {
    const Budget::Level level(inner.budget());
    Value item;
    if (!items->next(item)) return false;
    out = convert(inner, item);
    return true;
  });
}

// select, reject (by the item) and selectattr, rejectattr (by one of its attributes).
template <bool keep, bool attribute>
Value pick(Interpreter& run, const Value& input, const Arguments& arguments) {
  constexpr size_t first = attribute ? 1 : 0;
  if (arguments.positional.size() < first) fail_value("Missing parameter for attribute name");
  std::optional<AttributePath> path;
  if (attribute) path.emplace(arguments.positional[0]);
  Test test = nullptr;
  Arguments rest;
  if (arguments.positional.size() > first) {
    const std::string name = name_argument(arguments, first, "a test");
    test = find_test(name);
    if (!test) fail_value(fmt::format("No test named '{}'.", name));
    rest = rest_of(arguments, first + 1);
  }
  if (input.is_undefined()) return run.list({});
  auto items = std::make_shared<Iterator>(run, input);
  return run.generator([=](Interpreter& inner, Value& out) {
    const Budget::Level level(inner.budget());
    for (Value item; items->next(item);) {
      const Value subject = path ? path->get(inner, item) : item;
      if ((test ? test(inner, subject, rest) : truth(subject)) == keep) {
        out = std::move(item);
        return true;
      }
    }
    return false;
  });
}

constexpr FilterEntry entries[] = {
    {"map", &map},
    {"select", &pick<true, false>},
    {"reject", &pick<false, false>},
    {"selectattr", &pick<true, true>},
    {"rejectattr", &pick<false, true>},
};

}  // namespace

std::span<const FilterEntry> selection_filters() {
  return entries;
}

}  // namespace dure::jinja
