// Parsing once, rendering often.
#include "text/jinja.h"

#include "text/jinja_interpreter.h"
#include "text/jinja_parser.h"

namespace dure::jinja {

Template::Template(std::string_view source) : tree_(std::make_unique<const Tree>(parse(source))) {}
Template::~Template() = default;

std::string Template::render(const Variables& variables, const std::optional<std::tm>& now,
                             const Limits& limits) const {
  Interpreter run(*tree_, limits, now);
  for (const auto& [name, value] : variables) run.define(name, value);
  return run.render();
}

}  // namespace dure::jinja
