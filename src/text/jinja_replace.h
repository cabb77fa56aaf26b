// str.replace, which the method and the filter share.
#pragma once

#include <cstdint>
#include <string_view>

#include "text/jinja_value.h"

namespace dure::jinja {

class Interpreter;

// The first `most` occurrences of `from`, all of them if it is negative.
Value replace_text(Interpreter& run, const Value& self, std::string_view from, std::string_view to,
                   int64_t most);

}  // namespace dure::jinja
