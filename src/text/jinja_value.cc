// Making values, dictionary look-up and Python's names of types.
#include "text/jinja_value.h"

#include <fmt/format.h>

#include "text/jinja_object.h"
#include "text/python_unicode.h"

namespace dure::jinja {
namespace {

constexpr size_t index_from = 12;  // entries from which a dictionary gets an index

int nesting_of(const Value& value) {
  if (value.is(Kind::sequence)) return value.as_sequence().nesting;
  if (value.is(Kind::dict)) return value.as_dict().nesting;
  return 0;
}

void check_nesting(int nesting, const Budget* budget) {
  if (budget && nesting > budget->limits().nesting) {
    throw JinjaError(Fault::limit, fmt::format("the template nests values more than {} deep",
                                               budget->limits().nesting));
  }
}

}  // namespace

Value Value::number(const BigInt& value) {
  if (const auto small = value.to_int64()) return integer(*small);
  return Value(Data(std::in_place_index<4>, std::make_shared<const BigInt>(value)));
}

Value Value::undefined(std::string message, Fault fault) {
  return Value(Data(std::in_place_index<0>,
                    std::make_shared<const Undefined>(Undefined{fault, std::move(message)})));
}

Value Value::text(std::string bytes, Budget* budget, TextKind kind) {
  if (budget) {
    budget->check_text(bytes.size());
    budget->step_text(bytes.size());
  }
  return Value(
      Data(std::in_place_index<6>, std::make_shared<const Text>(std::move(bytes), kind, budget)));
}

Value Value::sequence(std::vector<Value> items, SequenceKind kind, Budget* budget) {
  if (budget) {
    budget->check_items(items.size());
    budget->step(1 + items.size() / 8);
  }
  auto made = std::make_shared<const Sequence>(std::move(items), kind, budget);
  check_nesting(made->nesting, budget);
  return Value(Data(std::in_place_index<7>, std::move(made)));
}

Value Value::range(int64_t start, int64_t stop, int64_t step, Budget* budget) {
  const int64_t distance = step > 0 ? stop - start : start - stop;
  const int64_t stride = step > 0 ? step : -step;
  const size_t count = distance <= 0 ? 0 : static_cast<size_t>((distance - 1) / stride + 1);
  if (budget) {
    budget->check_items(count);
    budget->step(1 + count / 8);
  }
  std::vector<Value> items;
  items.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    items.push_back(integer(start + static_cast<int64_t>(i) * step));
  }
  auto made = std::make_shared<Sequence>(std::move(items), SequenceKind::range, budget);
  made->start = start;
  made->stop = stop;
  made->step = step;
  return Value(Data(std::in_place_index<7>, std::shared_ptr<const Sequence>(std::move(made))));
}

Value Value::dict(std::vector<std::pair<Value, Value>> entries, Budget* budget) {
  if (budget) {
    budget->check_items(entries.size());
    budget->step(1 + entries.size());
  }
  auto made = std::make_shared<const Dict>(std::move(entries), budget);
  check_nesting(made->nesting, budget);
  return Value(Data(std::in_place_index<8>, std::move(made)));
}

bool Value::is_string() const {
  return is(Kind::text) && as_text().kind != TextKind::bytes;
}

bool Value::is_integral() const {
  return is(Kind::integer) || is(Kind::big) || is(Kind::boolean);
}

bool Value::is_sequence(SequenceKind wanted) const {
  return is(Kind::sequence) && as_sequence().kind == wanted;
}

const std::string& Value::bytes() const {
  return as_text().bytes;
}

bool Value::same_as(const Value& other) const {
  if (kind() != other.kind()) return false;
  switch (kind()) {
    case Kind::none:
      return true;
    case Kind::big:
      return compare(as_big(), other.as_big()) == 0;
    case Kind::text:
      return bytes() == other.bytes();
    default:
      return data_ == other.data_;
  }
}

Text::Text(std::string text, TextKind text_kind, Budget* budget)
    : bytes(std::move(text)),
      length(text_kind == TextKind::bytes ? bytes.size() : count_code_points(bytes)),
      kind(text_kind),
      holding(budget, sizeof(Text) + bytes.capacity()) {}

Sequence::Sequence(std::vector<Value> list, SequenceKind sequence_kind, Budget* budget)
    : items(std::move(list)),
      kind(sequence_kind),
      nesting(1),
      holding(budget, sizeof(Sequence) + items.capacity() * sizeof(Value)) {
  for (const Value& item : items) nesting = std::max(nesting, 1 + nesting_of(item));
}

Dict::Dict(std::vector<std::pair<Value, Value>> given, Budget* budget)
    : nesting(1), holding(budget, sizeof(Dict) + given.capacity() * 2 * sizeof(Value)) {
  entries.reserve(given.size());
  const bool indexed = given.size() >= index_from;
  for (auto& [key, value] : given) {
    nesting = std::max({nesting, 1 + nesting_of(key), 1 + nesting_of(value)});
    if (budget && !key.is_string()) budget->step(1 + entries.size() / 4);
    if (const Value* old = find(key)) {
      *const_cast<Value*>(old) = std::move(value);  // still being built: the entry is our own
      continue;
    }
    entries.emplace_back(std::move(key), std::move(value));
    const Value& stored = entries.back().first;
    if (indexed && stored.is_string()) index_.emplace(stored.bytes(), entries.size() - 1);
  }
}

size_t Dict::position(std::string_view key) const {
  if (!index_.empty()) {
    const auto found = index_.find(key);
    return found == index_.end() ? entries.size() : found->second;
  }
  size_t i = 0;
  while (i < entries.size() && !(entries[i].first.is_string() && entries[i].first.bytes() == key)) {
    ++i;
  }
  return i;
}

const Value* Dict::find(std::string_view key) const {
  const size_t at = position(key);
  return at == entries.size() ? nullptr : &entries[at].second;
}

const Value* Dict::find(const Value& key) const {
  if (key.is_string()) return find(key.bytes());
  equal_keys(key, key);  // refuses what cannot be a key even when the dictionary is empty
  for (const auto& [name, value] : entries) {
    if (!name.is_string() && equal_keys(name, key)) return &value;
  }
  return nullptr;
}

std::string type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
      return "Undefined";
    case Kind::none:
      return "NoneType";
    case Kind::boolean:
      return "bool";
    case Kind::integer:
    case Kind::big:
      return "int";
    case Kind::real:
      return "float";
    case Kind::text:
      switch (value.as_text().kind) {
        case TextKind::plain:
          return "str";
        case TextKind::markup:
          return "Markup";
        case TextKind::bytes:
          return "bytes";
      }
      break;
    case Kind::sequence:
      switch (value.as_sequence().kind) {
        case SequenceKind::list:
          return "list";
        case SequenceKind::tuple:
          return "tuple";
        case SequenceKind::group:
          return "_GroupTuple";
        case SequenceKind::keys:
          return "dict_keys";
        case SequenceKind::values:
          return "dict_values";
        case SequenceKind::items:
          return "dict_items";
        case SequenceKind::range:
          return "range";
      }
      break;
    case Kind::dict:
      return "dict";
    case Kind::object:
      return value.as_object().type();
  }
  return "object";
}

std::string describe_type(const Value& value) {
  return value.is_none() ? "None" : type_name(value) + " object";
}

}  // namespace dure::jinja
