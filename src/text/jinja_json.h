// JSON in and out of template values. Out is Python's json.dumps to the byte; in keeps whole
// numbers of any length, which the usual reader would turn into floats.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "text/jinja_value.h"

namespace dure::jinja {

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::optional<std::string> indent;  // the text of one level; absent: everything on one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};
// Throws a type fault for what JSON cannot hold.
std::string to_json(Budget& budget, const Value& value, const JsonStyle& style);

Value from_json(const Json& json);
// nullopt if the text is not JSON or nests too deeply.
std::optional<Value> parse_json_value(std::string_view text);

}  // namespace dure::jinja
