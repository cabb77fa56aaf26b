// The formats of JSON schema's strings that can be held to, as patterns.
#pragma once

#include <string>
#include <string_view>

namespace dure::grammar {

enum class FormatKind {
  held,        // string_format_pattern has it
  refused,     // JSON schema defines it, and it is not implemented
  annotation,  // JSON schema does not know it: it says nothing about the text
};

FormatKind string_format_kind(std::string_view format);

// The pattern, over the characters of the string, of a format that is held.
std::string string_format_pattern(std::string_view format);

}  // namespace dure::grammar
