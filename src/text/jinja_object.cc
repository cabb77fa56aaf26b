// Argument binding and the objects that need no interpreter.
#include "text/jinja_object.h"

#include <fmt/format.h>

namespace dure::jinja {

std::vector<std::optional<Value>> bind(const Arguments& arguments, std::string_view what,
                                       std::initializer_list<std::string_view> parameters,
                                       size_t required) {
  const std::span<const std::string_view> names(parameters.begin(), parameters.size());
  std::vector<std::optional<Value>> bound(names.size());
  if (arguments.positional.size() > names.size()) {
    fail_type(fmt::format("{} takes at most {} arguments, {} were given", what, names.size(),
                          arguments.positional.size()));
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i) bound[i] = arguments.positional[i];
  for (const auto& [name, value] : arguments.keyword) {
    size_t i = 0;
    while (i < names.size() && names[i] != name) ++i;
    if (i == names.size()) fail_type(fmt::format("{} has no argument '{}'", what, name));
    if (bound[i]) fail_type(fmt::format("{} got the argument '{}' twice", what, name));
    bound[i] = value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (!bound[i]) fail_type(fmt::format("{} needs the argument '{}'", what, names[i]));
  }
  return bound;
}

Value Object::call(Interpreter&, const Arguments&) {
  fail_type(fmt::format("'{}' object is not callable", type()));
}

std::optional<Value> Namespace::attribute(Interpreter&, std::string_view name) {
  for (const auto& [key, value] : values_) {
    if (key == name) return value;
  }
  return std::nullopt;
}

void Namespace::set(std::string_view name, Value value) {
  if (name.starts_with('_')) {
    throw JinjaError(Fault::security,
                     fmt::format("a namespace has no attribute '{}': names with an underscore in "
                                 "front are not allowed",
                                 name));
  }
  for (auto& [key, old] : values_) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  values_.emplace_back(name, std::move(value));
}

}  // namespace dure::jinja
