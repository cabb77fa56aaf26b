// Template source to tree.
#pragma once

#include <string_view>

#include "text/jinja_ast.h"

namespace dure::jinja {

// Throws a syntax fault with the line for source that is not a template, and an unsupported fault
// for what Jinja has but a chat template cannot use here (include, import, extends, ...).
Tree parse(std::string_view source);

}  // namespace dure::jinja
