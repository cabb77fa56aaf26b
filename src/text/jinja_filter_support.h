// What the files of filters share. Internal.
#pragma once

#include <span>

#include "text/jinja_ast.h"
#include "text/jinja_interpreter.h"
#include "text/jinja_ops.h"

namespace dure::jinja {

struct FilterEntry {
  std::string_view name;
  Filter filter;
};
std::span<const FilterEntry> text_filters();
std::span<const FilterEntry> number_filters();
std::span<const FilterEntry> sequence_filters();
std::span<const FilterEntry> selection_filters();
std::span<const FilterEntry> order_filters();

// The item an attribute path such as "a.b.0" leads to; a missing value gives `fallback` if there is
// one.
class AttributePath {
 public:
  explicit AttributePath(const Value& attribute);  // a text or an integer
  Value get(Interpreter& run, const Value& item, const Value* fallback = nullptr) const;

 private:
  std::vector<Value> steps_;
};

// Lower case for text, anything else as it is: how sort, min and unique compare by default.
Value without_case(Interpreter& run, const Value& value);

inline bool flag(const std::optional<Value>& value, bool absent) {
  return value ? truth(*value) : absent;
}
// soft_str: text stays what it is, anything else becomes text.
inline Value soft_text(Interpreter& run, const Value& value) {
  return value.is_string() ? value : run.text(run.str(value));
}

}  // namespace dure::jinja
