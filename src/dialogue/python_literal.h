// Python literals as JSON text: models that write calls as Python code write their values so, and
// others write True and None where JSON was meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dure::dialogue {

// Strings in either quotes, numbers, True, False, None, lists, tuples and dicts with string keys,
// nested up to 64 deep; JSON itself is taken too. Nothing where the text is anything else.
std::optional<std::string> python_literal_as_json(std::string_view text);

}  // namespace dure::dialogue
