// Attributes, items, slices, calls and iteration, as Jinja's immutable sandbox gives them.
#include <fmt/format.h>

#include "text/jinja_interpreter.h"
#include "text/jinja_methods.h"
#include "text/python_unicode.h"

namespace dure::jinja {
namespace {

Value missing_attribute(const Value& object, std::string_view name) {
  return Value::undefined(fmt::format("'{}' has no attribute '{}'", describe_type(object), name));
}

// What `object.name` or `object['name']` finds beside dictionary keys; empty if nothing.
std::optional<Value> python_attribute(Interpreter& run, const Value& object,
                                      std::string_view name) {
  if (is_forbidden(object, name)) {
    return Value::undefined(
        fmt::format("access to attribute '{}' of '{}' object is unsafe.", name, type_name(object)),
        Fault::security);
  }
  if (const Method method = find_method(object, name)) {
    return Value::object(run.make<Function>(
        std::string(name), [method, object](Interpreter& inner, const Arguments& arguments) {
          return method(inner, object, arguments);
        }));
  }
  if (object.is(Kind::object)) return object.as_object().attribute(run, name);
  if (object.is_sequence(SequenceKind::group)) {
    if (name == "grouper") return object.as_sequence().items[0];
    if (name == "list") return object.as_sequence().items[1];
  }
  return std::nullopt;
}

// Python's slice.indices over `length` items: the first index, the step and how many.
struct Indices {
  int64_t start, step;
  size_t count;
};

Indices slice_indices(const Value& start, const Value& stop, const Value& step_value,
                      size_t length) {
  const int64_t n = static_cast<int64_t>(length);
  const auto number = [](const Value& value) {
    // Bounds beyond 64 bits are as good as the largest.
    if (value.is(Kind::big)) return value.as_big().negative() ? INT64_MIN / 2 : INT64_MAX / 2;
    return std::clamp(to_index(value, "slice indices"), INT64_MIN / 2, INT64_MAX / 2);
  };
  const int64_t step = step_value.is_none() ? 1 : number(step_value);
  if (step == 0) fail_value("slice step cannot be zero");
  const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
  const auto bound = [&](const Value& value, int64_t absent) {
    if (value.is_none()) return absent;
    const int64_t index = number(value);
    return std::clamp(index < 0 ? index + n : index, low, high);
  };
  const int64_t first = bound(start, step < 0 ? high : low);
  const int64_t last = bound(stop, step < 0 ? low : high);
  const int64_t distance = step < 0 ? first - last : last - first;
  const int64_t stride = step < 0 ? -step : step;
  return {first, step, distance <= 0 ? 0 : static_cast<size_t>((distance - 1) / stride + 1)};
}

Value slice_text(Interpreter& run, const Value& object, const Indices& indices) {
  const Text& text = object.as_text();
  run.budget().step_text(text.bytes.size());
  const size_t first = static_cast<size_t>(indices.start);
  std::string out;
  if (indices.count == 0) {
  } else if (text.one_byte_each() && indices.step == 1) {
    out = text.bytes.substr(first, indices.count);
  } else if (indices.step == 1) {
    const size_t begin = byte_offset(text.bytes, first);
    const std::string_view rest = std::string_view(text.bytes).substr(begin);
    out = rest.substr(0, byte_offset(rest, indices.count));
  } else {
    std::vector<size_t> starts;  // the byte of every code point
    for (size_t i = 0; i < text.bytes.size(); i += code_point_at(text.bytes, i).bytes) {
      starts.push_back(i);
    }
    starts.push_back(text.bytes.size());
    int64_t at = indices.start;
    for (size_t i = 0; i < indices.count; ++i, at += indices.step) {
      const size_t index = static_cast<size_t>(at);
      out.append(text.bytes, starts[index], starts[index + 1] - starts[index]);
    }
  }
  return run.text(std::move(out), text.kind);
}

std::optional<int64_t> as_position(const Value& key, size_t length) {
  if (key.is(Kind::real) || !key.is_integral() || key.is(Kind::big)) return std::nullopt;
  int64_t index = key.is(Kind::boolean) ? key.as_boolean() : key.as_integer();
  if (index < 0) index += static_cast<int64_t>(length);
  if (index < 0 || index >= static_cast<int64_t>(length)) return std::nullopt;
  return index;
}

bool indexable(const Sequence& sequence) {
  return sequence.kind == SequenceKind::list || sequence.kind == SequenceKind::tuple ||
         sequence.kind == SequenceKind::group || sequence.kind == SequenceKind::range;
}

// object[key] as Python itself would find it.
std::optional<Value> subscript(Interpreter& run, const Value& object, const Value& key) {
  if (object.is(Kind::dict)) {
    const bool hashable =
        !key.is(Kind::dict) && (!key.is(Kind::sequence) || key.is_sequence(SequenceKind::tuple));
    if (const Value* found = hashable ? object.as_dict().find(key) : nullptr) return *found;
  } else if (object.is(Kind::sequence) && indexable(object.as_sequence())) {
    const auto& items = object.as_sequence().items;
    if (const auto at = as_position(key, items.size())) return items[static_cast<size_t>(*at)];
  } else if (object.is(Kind::text)) {
    const Text& text = object.as_text();
    if (const auto at = as_position(key, text.length)) {
      if (text.kind == TextKind::bytes) {
        return Value::integer(static_cast<unsigned char>(text.bytes[static_cast<size_t>(*at)]));
      }
      return slice_text(run, object, {*at, 1, 1});
    }
  }
  return std::nullopt;
}

}  // namespace

Value Interpreter::get_attribute(const Value& object, std::string_view name) {
  budget_.step();
  if (object.is_undefined()) fail_undefined(object);
  if (auto found = python_attribute(*this, object, name)) return *std::move(found);
  if (object.is(Kind::dict)) {
    if (const Value* found = object.as_dict().find(name)) return *found;
  }
  return missing_attribute(object, name);
}

Value Interpreter::get_item(const Value& object, const Value& key) {
  budget_.step();
  if (object.is_undefined()) fail_undefined(object);
  if (auto found = subscript(*this, object, key)) return *std::move(found);
  if (key.is_string()) {
    if (auto found = python_attribute(*this, object, key.bytes())) return *std::move(found);
    return missing_attribute(object, key.bytes());
  }
  std::string shown;
  append_repr(budget_, shown, key);
  return Value::undefined(fmt::format("{} has no element {}", describe_type(object), shown));
}

Value Interpreter::get_slice(const Value& object, const Value& start, const Value& stop,
                             const Value& step) {
  if (object.is_undefined()) fail_undefined(object);
  const bool numbers = (start.is_none() || start.is_integral()) &&
                       (stop.is_none() || stop.is_integral()) &&
                       (step.is_none() || step.is_integral());
  const bool sliceable =
      object.is(Kind::text) || (object.is(Kind::sequence) && indexable(object.as_sequence()));
  if (!numbers || !sliceable) {
    return Value::undefined(fmt::format("{} has no element slice", describe_type(object)));
  }
  if (object.is(Kind::text)) {
    return slice_text(*this, object, slice_indices(start, stop, step, object.as_text().length));
  }
  const Sequence& sequence = object.as_sequence();
  const Indices indices = slice_indices(start, stop, step, sequence.items.size());
  if (sequence.kind == SequenceKind::range) {
    if (indices.count == 0) return Value::range(0, 0, 1, &budget_);
    // One item needs no stride, which could be too large to multiply.
    const int64_t stride = indices.count == 1 ? 1 : sequence.step * indices.step;
    const int64_t first = sequence.items[static_cast<size_t>(indices.start)].as_integer();
    return Value::range(first, first + static_cast<int64_t>(indices.count) * stride, stride,
                        &budget_);
  }
  std::vector<Value> out;
  out.reserve(indices.count);
  int64_t at = indices.start;
  for (size_t i = 0; i < indices.count; ++i, at += indices.step) {
    out.push_back(sequence.items[static_cast<size_t>(at)]);
  }
  return Value::sequence(std::move(out), sequence.kind, &budget_);
}

Value Interpreter::call(const Value& callee, const Arguments& arguments) {
  const Budget::Level level(budget_);
  budget_.step();
  if (callee.is_undefined()) fail_undefined(callee);
  if (!callee.is(Kind::object)) {
    fail_type(fmt::format("'{}' object is not callable", type_name(callee)));
  }
  return callee.as_object().call(*this, arguments);
}

std::vector<Value> Interpreter::to_items(const Value& iterable) {
  if (iterable.is(Kind::sequence)) {
    budget_.step(1 + iterable.as_sequence().items.size() / 8);
    return iterable.as_sequence().items;
  }
  Iterator walk(*this, iterable);
  std::vector<Value> items;
  for (Value item; walk.next(item);) {
    budget_.check_items(items.size() + 1);
    items.push_back(std::move(item));
  }
  return items;
}

Iterator::Iterator(Interpreter& run, Value source) : run_(run), source_(std::move(source)) {
  const Kind kind = source_.kind();
  const bool iterable = kind == Kind::text || kind == Kind::sequence || kind == Kind::dict ||
                        kind == Kind::undefined ||
                        (kind == Kind::object && source_.as_object().iterable());
  if (!iterable) fail_type(fmt::format("'{}' object is not iterable", type_name(source_)));
}

bool Iterator::next(Value& out) {
  run_.budget().step();
  switch (source_.kind()) {
    case Kind::sequence: {
      const auto& items = source_.as_sequence().items;
      if (at_ == items.size()) return false;
      out = items[at_++];
      return true;
    }
    case Kind::dict: {
      const auto& entries = source_.as_dict().entries;
      if (at_ == entries.size()) return false;
      out = entries[at_++].first;
      return true;
    }
    case Kind::text: {
      const Text& text = source_.as_text();
      if (at_ == text.bytes.size()) return false;
      if (text.kind == TextKind::bytes) {
        out = Value::integer(static_cast<unsigned char>(text.bytes[at_++]));
        return true;
      }
      const size_t bytes = code_point_at(text.bytes, at_).bytes;
      out = run_.text(text.bytes.substr(at_, bytes));
      at_ += bytes;
      return true;
    }
    case Kind::object:
      return source_.as_object().next(run_, out);
    default:
      return false;
  }
}

std::optional<size_t> Iterator::left() const {
  switch (source_.kind()) {
    case Kind::sequence:
      return source_.as_sequence().items.size() - at_;
    case Kind::dict:
      return source_.as_dict().entries.size() - at_;
    case Kind::undefined:
      return 0;
    default:
      return std::nullopt;
  }
}

}  // namespace dure::jinja
