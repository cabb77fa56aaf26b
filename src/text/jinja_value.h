// The values a template works on: Python's, immutable, shared by reference count. Only objects
// (namespaces, loops, macros, iterators) have state; the interpreter of one rendering owns those,
// so no cycle can leak.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja_bigint.h"
#include "text/jinja_budget.h"
#include "text/jinja_error.h"

namespace dure::jinja {

class Object;
struct Text;
struct Sequence;
struct Dict;

// Why a value is missing; using it raises the fault with the message.
struct Undefined {
  Fault fault = Fault::undefined;
  std::string message;
};

enum class Kind { undefined, none, boolean, integer, big, real, text, sequence, dict, object };
enum class TextKind { plain, markup, bytes };  // markup: already escaped for HTML
enum class SequenceKind {
  list,
  tuple,
  group,  // a tuple whose two items are also called grouper and list
  keys,
  values,
  items,
  range
};

class Value {
 public:
  Value() : data_(std::monostate{}) {}  // None
  template <std::same_as<bool> T>
  Value(T) = delete;  // say boolean()

  static Value boolean(bool value) { return Value(Data(std::in_place_index<2>, value)); }
  static Value integer(int64_t value) { return Value(Data(std::in_place_index<3>, value)); }
  static Value number(const BigInt& value);  // integer where it fits in 64 bits
  static Value real(double value) { return Value(Data(std::in_place_index<5>, value)); }
  static Value undefined(std::string message, Fault fault = Fault::undefined);
  // Values built while rendering name the budget that holds them; constants and inputs do not.
  static Value text(std::string bytes, Budget* budget = nullptr, TextKind kind = TextKind::plain);
  static Value sequence(std::vector<Value> items, SequenceKind kind = SequenceKind::list,
                        Budget* budget = nullptr);
  // The numbers from start on, before stop; the bounds stay within 2^54 and step is not 0.
  static Value range(int64_t start, int64_t stop, int64_t step, Budget* budget);
  // Later entries replace earlier ones with an equal key, which keeps its place.
  static Value dict(std::vector<std::pair<Value, Value>> entries, Budget* budget = nullptr);
  static Value object(Object* object) { return Value(Data(std::in_place_index<9>, object)); }

  Kind kind() const { return kinds[data_.index()]; }
  bool is(Kind wanted) const { return kind() == wanted; }
  bool is_undefined() const { return data_.index() == 0; }
  bool is_none() const { return data_.index() == 1; }
  bool is_string() const;    // text that is not bytes
  bool is_integral() const;  // integer, big or boolean
  bool is_number() const { return is_integral() || is(Kind::real); }
  bool is_sequence(SequenceKind wanted) const;

  // Each is only for its own kind.
  const Undefined& as_undefined() const { return *std::get<0>(data_); }
  bool as_boolean() const { return std::get<2>(data_); }
  int64_t as_integer() const { return std::get<3>(data_); }
  const BigInt& as_big() const { return *std::get<4>(data_); }
  double as_real() const { return std::get<5>(data_); }
  const Text& as_text() const { return *std::get<6>(data_); }
  const Sequence& as_sequence() const { return *std::get<7>(data_); }
  const Dict& as_dict() const { return *std::get<8>(data_); }
  Object& as_object() const { return *std::get<9>(data_); }
  const std::string& bytes() const;  // of a text

  bool same_as(const Value& other) const;  // Python's `is`

 private:
  using Data = std::variant<std::shared_ptr<const Undefined>, std::monostate, bool, int64_t,
                            std::shared_ptr<const BigInt>, double, std::shared_ptr<const Text>,
                            std::shared_ptr<const Sequence>, std::shared_ptr<const Dict>, Object*>;
  static constexpr Kind kinds[] = {Kind::undefined, Kind::none,  Kind::boolean, Kind::integer,
                                   Kind::big,       Kind::real,  Kind::text,    Kind::sequence,
                                   Kind::dict,      Kind::object};
  explicit Value(Data data) : data_(std::move(data)) {}
  Data data_;
};

// Bytes that a budget holds for as long as their owner lives.
class Holding {
 public:
  Holding(Budget* budget, size_t bytes) : budget_(budget), bytes_(bytes) {
    if (budget_) budget_->hold(bytes_);
  }
  ~Holding() {
    if (budget_) budget_->release(bytes_);
  }
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;

 private:
  Budget* budget_;
  size_t bytes_;
};

struct Text {
  Text(std::string bytes, TextKind kind, Budget* budget);
  std::string bytes;  // UTF-8, unless kind is bytes
  size_t length;      // in code points (bytes of a byte string)
  TextKind kind;
  Holding holding;

  bool one_byte_each() const { return length == bytes.size(); }
};

struct Sequence {
  Sequence(std::vector<Value> items, SequenceKind kind, Budget* budget);
  std::vector<Value> items;
  SequenceKind kind;
  int64_t start = 0, stop = 0, step = 1;  // of a range
  int nesting;                            // 1 + that of the deepest item
  Holding holding;
};

struct Dict {
  Dict(std::vector<std::pair<Value, Value>> entries, Budget* budget);
  const Value* find(const Value& key) const;  // nullptr if absent; the key must be hashable
  const Value* find(std::string_view key) const;

  std::vector<std::pair<Value, Value>> entries;
  int nesting;
  Holding holding;

 private:
  size_t position(std::string_view key) const;
  std::unordered_map<std::string_view, size_t> index_;  // of text keys, once there are many
};

// Equality of dictionary keys; unhashable keys (lists, dicts) raise a type error.
bool equal_keys(const Value& a, const Value& b);

std::string type_name(const Value& value);      // Python's: "str", "NoneType", "dict", ...
std::string describe_type(const Value& value);  // as the undefined messages have it: "str object"

}  // namespace dure::jinja
