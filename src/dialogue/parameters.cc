// See parameters.h: writing.
#include "dialogue/parameters.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "dialogue/json_reading.h"
#include "dialogue/python_literal.h"

namespace dure::dialogue {
namespace {

bool allows(const ParameterTypes& types, const Json& value) {
  if (value.is_null()) return types.null;
  if (value.is_boolean()) return types.boolean;
  if (value.is_number_integer()) return types.integer || types.number;
  if (value.is_number()) return types.number;
  if (value.is_object()) return types.object;
  return value.is_array() && types.array;
}

bool is_allowed_json(std::string_view text, const ParameterTypes& types) {
  try {
    return allows(types, parse_json(text, "argument", {.allow_duplicate_keys = true}));
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::string value_as_json(std::string_view text, const ParameterTypes& types) {
  if (!types.only_string()) {
    const std::string_view inner = trimmed(text);
    if (is_allowed_json(inner, types)) return std::string(inner);
    const std::optional<std::string> python = python_literal_as_json(inner);
    if (python && is_allowed_json(*python, types)) return *python;
  }
  return json_quoted(text);
}

void ArgumentsWriter::key(std::string_view name) {
  out_.arguments(empty_ ? "{" : ", ");
  out_.arguments(json_quoted(name));
  out_.arguments(": ");
  empty_ = false;
}

void ArgumentsWriter::value(std::string_view json) {
  out_.arguments(json);
}

void ArgumentsWriter::string_text(std::string_view text) {
  std::string escaped;
  for (const char byte : text) append_escaped(escaped, byte);
  out_.arguments(escaped);
}

void ArgumentsWriter::close() {
  out_.arguments(empty_ ? "{}" : "}");
}

Parsing<int> write_value(Reading& r, ArgumentsWriter& arguments, ParameterTypes types,
                         std::span<const Marker> markers) {
  std::string text;
  if (!types.only_string()) {
    const int found = co_await read_until(r, markers, text);
    if (found >= 0 || !r.cut) arguments.value(value_as_json(text, types));
    co_return found;
  }
  arguments.open_string();
  MarkerScan scan(markers);
  for (;;) {
    const int byte = co_await r.in.take();
    if (byte == Source::end) co_return answer_over;
    text.clear();
    const int found = scan.feed(static_cast<char>(byte), text);
    arguments.string_text(text);
    if (found < 0) continue;
    arguments.close_string();
    co_return found;
  }
}

}  // namespace dure::dialogue
