// Look-up of methods, what the sandbox forbids, and the methods of lists, tuples and dicts.
#include "text/jinja_methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/jinja_interpreter.h"
#include "text/python_unicode.h"

namespace dure::jinja {
namespace {

Value list_index(Interpreter& run, const Value& self, const Arguments& arguments) {
  const auto given = bind(arguments, "index()", {"value", "start", "stop"}, 1);
  const auto& items = self.as_sequence().items;
  const int64_t n = static_cast<int64_t>(items.size());
  const auto bound = [&](const std::optional<Value>& value, int64_t absent) {
    if (!value) return absent;
    const int64_t index = to_index(*value, "index() bounds");
    return std::clamp(index < 0 ? index + n : index, int64_t{0}, n);
  };
  for (int64_t i = bound(given[1], 0), end = bound(given[2], n); i < end; ++i) {
    if (run.equal(items[static_cast<size_t>(i)], *given[0])) return Value::integer(i);
  }
  std::string shown;
  append_repr(run.budget(), shown, *given[0]);
  fail_value(shown + " is not in the list");
}

Value list_count(Interpreter& run, const Value& self, const Arguments& arguments) {
  const auto given = bind(arguments, "count()", {"value"}, 1);
  int64_t count = 0;
  for (const Value& item : self.as_sequence().items) count += run.equal(item, *given[0]);
  return Value::integer(count);
}

Value copy(Interpreter&, const Value& self, const Arguments& arguments) {
  bind(arguments, "copy()", {});
  return self;  // values do not change, so one will do
}

Value dict_get(Interpreter&, const Value& self, const Arguments& arguments) {
  const auto given = bind(arguments, "get()", {"key", "default"}, 1);
  const Value* found = self.as_dict().find(*given[0]);
  return found ? *found : given[1].value_or(Value());
}

Value dict_view(Interpreter& run, const Value& self, SequenceKind kind) {
  std::vector<Value> out;
  out.reserve(self.as_dict().entries.size());
  for (const auto& [key, value] : self.as_dict().entries) {
    if (kind == SequenceKind::items) {
      out.push_back(run.tuple({key, value}));
    } else {
      out.push_back(kind == SequenceKind::keys ? key : value);
    }
  }
  return Value::sequence(std::move(out), kind, &run.budget());
}

Value dict_keys(Interpreter& run, const Value& self, const Arguments& arguments) {
  bind(arguments, "keys()", {});
  return dict_view(run, self, SequenceKind::keys);
}
Value dict_values(Interpreter& run, const Value& self, const Arguments& arguments) {
  bind(arguments, "values()", {});
  return dict_view(run, self, SequenceKind::values);
}
Value dict_items(Interpreter& run, const Value& self, const Arguments& arguments) {
  bind(arguments, "items()", {});
  return dict_view(run, self, SequenceKind::items);
}

Value dict_fromkeys(Interpreter& run, const Value&, const Arguments& arguments) {
  const auto given = bind(arguments, "fromkeys()", {"iterable", "value"}, 1);
  std::vector<std::pair<Value, Value>> entries;
  for (Value& key : run.to_items(*given[0])) {
    entries.emplace_back(std::move(key), given[1].value_or(Value()));
  }
  return Value::dict(std::move(entries), &run.budget());
}

Value bytes_decode(Interpreter& run, const Value& self, const Arguments& arguments) {
  bind(arguments, "decode()", {"encoding", "errors"});
  if (!is_valid_utf8(self.bytes())) fail_value("the bytes are not valid UTF-8");
  return run.text(self.bytes());
}

Value float_is_integer(Interpreter&, const Value& self, const Arguments& arguments) {
  bind(arguments, "is_integer()", {});
  const double value = self.as_real();
  return Value::boolean(value - value == 0 && value == static_cast<double>(static_cast<int64_t>(
                                                           std::clamp(value, -9e18, 9e18))));
}

template <size_t N>
bool among(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 8> list_changers = {"append", "clear",  "extend",  "insert",
                                                           "pop",    "remove", "reverse", "sort"};
constexpr std::array<std::string_view, 5> dict_changers = {"clear", "pop", "popitem", "setdefault",
                                                           "update"};
// What every Python object has; other names with two underscores do not exist.
constexpr std::array<std::string_view, 22> object_attributes = {
    "__class__", "__delattr__",      "__dir__",    "__doc__",  "__eq__",     "__format__",
    "__ge__",    "__getattribute__", "__gt__",     "__hash__", "__init__",   "__init_subclass__",
    "__le__",    "__lt__",           "__ne__",     "__new__",  "__reduce__", "__reduce_ex__",
    "__repr__",  "__setattr__",      "__sizeof__", "__str__"};

}  // namespace

Method find_method(const Value& self, std::string_view name) {
  switch (self.kind()) {
    case Kind::text:
      if (!self.is_string()) return name == "decode" ? &bytes_decode : nullptr;
      if (const Method found = find_text_method(name)) return found;
      return find_split_method(name);
    case Kind::sequence: {
      const SequenceKind kind = self.as_sequence().kind;
      const bool viewed =
          kind == SequenceKind::keys || kind == SequenceKind::values || kind == SequenceKind::items;
      if (viewed) return nullptr;
      if (name == "index") return &list_index;
      if (name == "count") return &list_count;
      return name == "copy" && kind == SequenceKind::list ? &copy : nullptr;
    }
    case Kind::dict:
      if (name == "get") return &dict_get;
      if (name == "items") return &dict_items;
      if (name == "keys") return &dict_keys;
      if (name == "values") return &dict_values;
      if (name == "copy") return &copy;
      return name == "fromkeys" ? &dict_fromkeys : nullptr;
    case Kind::real:
      return name == "is_integer" ? &float_is_integer : nullptr;
    default:
      return nullptr;
  }
}

bool is_forbidden(const Value& self, std::string_view name) {
  if (self.is_sequence(SequenceKind::list) && among(list_changers, name)) return true;
  if (self.is(Kind::dict) && among(dict_changers, name)) return true;
  return name.starts_with("__") && among(object_attributes, name);
}

const std::string& text_argument(const Value& value, std::string_view what) {
  if (value.is_undefined()) fail_undefined(value);
  if (!value.is_string()) {
    fail_type(fmt::format("{} must be str, not {}", what, type_name(value)));
  }
  return value.bytes();
}

Span search_span(const Value& self, const std::optional<Value>& start,
                 const std::optional<Value>& end) {
  const Text& text = self.as_text();
  const int64_t n = static_cast<int64_t>(text.length);
  const auto bound = [&](const std::optional<Value>& value, int64_t absent) {
    if (!value || value->is_none()) return absent;
    const int64_t index = to_index(*value, "slice indices");
    return index < 0 ? std::max<int64_t>(index + n, 0) : index;
  };
  const int64_t first = bound(start, 0);
  const int64_t last = std::min(bound(end, n), n);
  if (first > n) return {text.bytes.size() + 1, text.bytes.size()};
  const auto offset = [&](int64_t index) {
    const size_t at = static_cast<size_t>(index);
    return text.one_byte_each() ? at : byte_offset(text.bytes, at);
  };
  return {offset(first), offset(last)};
}

}  // namespace dure::jinja
