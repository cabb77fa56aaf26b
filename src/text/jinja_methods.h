// The methods of Python's str, list, dict and tuple that a template may call.
#pragma once

#include <string_view>

#include "text/jinja_object.h"

namespace dure::jinja {

using Method = Value (*)(Interpreter&, const Value& self, const Arguments&);

// The method of this name, nullptr if the value has none or the sandbox refuses it.
Method find_method(const Value& self, std::string_view name);
// Whether the attribute exists in Python but the sandbox keeps it from templates: methods that
// change the value, and everything that begins with two underscores.
bool is_forbidden(const Value& self, std::string_view name);

Method find_text_method(std::string_view name);   // jinja_text_methods.cc and jinja_text_classes.cc
Method find_split_method(std::string_view name);  // jinja_split_methods.cc

// Bounds of a search as str.find takes them: code-point indices turned to bytes.
struct Span {
  size_t begin, end;  // bytes; begin > end when the start lies behind the end
};
Span search_span(const Value& self, const std::optional<Value>& start,
                 const std::optional<Value>& end);
// The text of an argument, a type error for anything else.
const std::string& text_argument(const Value& value, std::string_view what);

}  // namespace dure::jinja
