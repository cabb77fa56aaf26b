// Filters that measure, walk, cut or join sequences.
#include <fmt/format.h>

#include <algorithm>

#include "text/jinja_filter_support.h"
#include "text/jinja_methods.h"
#include "text/python_unicode.h"

namespace dure::jinja {
namespace {

Value length(Interpreter&, const Value& input, const Arguments& arguments) {
  bind(arguments, "length", {});
  switch (input.kind()) {
    case Kind::undefined:
      return Value::integer(0);
    case Kind::text:
      return Value::integer(static_cast<int64_t>(input.as_text().length));
    case Kind::sequence:
      return Value::integer(static_cast<int64_t>(input.as_sequence().items.size()));
    case Kind::dict:
      return Value::integer(static_cast<int64_t>(input.as_dict().entries.size()));
    default:
      fail_type(fmt::format("object of type '{}' has no len()", type_name(input)));
  }
}

Value list(Interpreter& run, const Value& input, const Arguments& arguments) {
  bind(arguments, "list", {});
  return run.list(run.to_items(input));
}

Value first(Interpreter& run, const Value& input, const Arguments& arguments) {
  bind(arguments, "first", {});
  Iterator items(run, input);
  Value item;
  if (items.next(item)) return item;
  return Value::undefined("No first item, sequence was empty.");
}

Value last(Interpreter& run, const Value& input, const Arguments& arguments) {
  bind(arguments, "last", {});
  if (input.is(Kind::object))
    fail_type(fmt::format("'{}' object is not reversible", type_name(input)));
  const std::vector<Value> items = run.to_items(input);
  if (!items.empty()) return items.back();
  return Value::undefined("No last item, sequence was empty.");
}

Value join(Interpreter& run, const Value& input, const Arguments& arguments) {
  const auto given = bind(arguments, "join", {"d", "attribute"});
  const std::string separator = given[0] ? run.str(*given[0]) : "";
  std::optional<AttributePath> path;
  if (given[1] && !given[1]->is_none()) path.emplace(*given[1]);
  Iterator items(run, input);
  std::string out;
  bool any = false;
  for (Value item; items.next(item);) {
    if (any) {
      run.budget().step_text(separator.size());
      out += separator;
    }
    any = true;
    append_str(run.budget(), out, path ? path->get(run, item) : item);
    run.budget().check_text(out.size());
  }
  return run.text(std::move(out));
}

Value reverse(Interpreter& run, const Value& input, const Arguments& arguments) {
  bind(arguments, "reverse", {});
  if (input.is_string()) return run.get_slice(input, {}, {}, Value::integer(-1));
  std::vector<Value> items = run.to_items(input);
  std::reverse(items.begin(), items.end());
  // What cannot be walked backwards comes as a list, the rest as an iterator.
  if (input.is(Kind::object) || input.is_undefined()) return run.list(std::move(items));
  const Value held = run.list(std::move(items));
  return run.generator([held, at = size_t{0}](Interpreter&, Value& out) mutable {
    if (at == held.as_sequence().items.size()) return false;
    out = held.as_sequence().items[at++];
    return true;
  });
}

Value items(Interpreter& run, const Value& input, const Arguments& arguments) {
  bind(arguments, "items", {});
  if (!input.is(Kind::dict) && !input.is_undefined()) {
    fail_type("Can only get item pairs from a mapping.");
  }
  return run.generator([input, at = size_t{0}](Interpreter& inner, Value& out) mutable {
    if (input.is_undefined() || at == input.as_dict().entries.size()) return false;
    const auto& [key, value] = input.as_dict().entries[at++];
    out = inner.tuple({key, value});
    return true;
  });
}

Value batch(Interpreter& run, const Value& input, const Arguments& arguments) {
  const auto given = bind(arguments, "batch", {"linecount", "fill_with"}, 1);
  const int64_t count = to_index(*given[0], "linecount");
  if (count <= 0) fail_value("linecount must be positive");
  const size_t size = static_cast<size_t>(count);
  std::vector<Value> rows, row;
  const auto close = [&] { rows.push_back(run.list(std::exchange(row, {}))); };
  for (Value& item : run.to_items(input)) {
    if (row.size() == size) close();
    row.push_back(std::move(item));
  }
  if (!row.empty()) {
    if (given[1] && !given[1]->is_none()) {
      run.budget().check_items(size);
      while (row.size() < size) row.push_back(*given[1]);
    }
    close();
  }
  const Value held = run.list(std::move(rows));
  return run.generator([held, at = size_t{0}](Interpreter&, Value& out) mutable {
    if (at == held.as_sequence().items.size()) return false;
    out = held.as_sequence().items[at++];
    return true;
  });
}

Value slice(Interpreter& run, const Value& input, const Arguments& arguments) {
  const auto given = bind(arguments, "slice", {"slices", "fill_with"}, 1);
  const int64_t count = to_index(*given[0], "slices");
  if (count <= 0) fail_value("slices must be positive");
  run.budget().check_items(static_cast<size_t>(count));
  const size_t slices = static_cast<size_t>(count);
  const std::vector<Value> values = run.to_items(input);
  const size_t each = values.size() / slices, extra = values.size() % slices;
  std::vector<Value> rows;
  size_t at = 0;
  for (size_t i = 0; i < slices; ++i) {
    const size_t size = each + (i < extra);
    std::vector<Value> row(values.begin() + static_cast<long>(at),
                           values.begin() + static_cast<long>(at + size));
    at += size;
    if (given[1] && !given[1]->is_none() && i >= extra) row.push_back(*given[1]);
    rows.push_back(run.list(std::move(row)));
  }
  const Value held = run.list(std::move(rows));
  return run.generator([held, next = size_t{0}](Interpreter&, Value& out) mutable {
    if (next == held.as_sequence().items.size()) return false;
    out = held.as_sequence().items[next++];
    return true;
  });
}

Value default_value(Interpreter&, const Value& input, const Arguments& arguments) {
  const auto given = bind(arguments, "default", {"default_value", "boolean"});
  const bool absent = input.is_undefined() || (flag(given[1], false) && !truth(input));
  return absent ? given[0].value_or(Value::text("")) : input;
}

Value attr(Interpreter& run, const Value& input, const Arguments& arguments) {
  const auto given = bind(arguments, "attr", {"name"}, 1);
  const std::string name = run.str(*given[0]);
  // Attributes only: unlike the dot, this does not fall back to the keys of a dictionary.
  if (input.is(Kind::dict) && !find_method(input, name) && !is_forbidden(input, name)) {
    return Value::undefined(fmt::format("'dict object' has no attribute '{}'", name));
  }
  return run.get_attribute(input, name);
}

constexpr FilterEntry entries[] = {
    {"length", &length},
    {"count", &length},
    {"list", &list},
    {"first", &first},
    {"last", &last},
    {"join", &join},
    {"reverse", &reverse},
    {"items", &items},
    {"batch", &batch},
    {"slice", &slice},
    {"default", &default_value},
    {"d", &default_value},
    {"attr", &attr},
};

}  // namespace

std::span<const FilterEntry> sequence_filters() {
  return entries;
}

}  // namespace dure::jinja
