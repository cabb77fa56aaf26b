// Field access for components of tokenizer.json.
#include "text/component.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace dure::component {

void refuse(std::string_view what, std::string_view why) {
  throw_bad_input(fmt::format("{}: {}", what, why),
                  "Use a tokenizer.json of byte-level or byte-fallback BPE.");
}

std::string type(const Json& object, std::string_view what) {
  if (!object.is_object()) refuse(what, "not an object");
  return text(object, "type", what);
}

void only_keys(const Json& object, std::initializer_list<std::string_view> keys,
               std::string_view what) {
  for (const auto& [key, value] : object.items()) {
    if (key != "type" && std::find(keys.begin(), keys.end(), key) == keys.end())
      refuse(what, fmt::format("unknown field '{}'", key));
  }
}

const Json& field(const Json& object, std::string_view key, std::string_view what) {
  const auto found = object.find(std::string(key));
  if (found == object.end()) refuse(what, fmt::format("'{}' is missing", key));
  return *found;
}

std::string text(const Json& object, std::string_view key, std::string_view what) {
  const Json& value = field(object, key, what);
  if (!value.is_string()) refuse(what, fmt::format("'{}' is not a string", key));
  return value.get<std::string>();
}

bool flag(const Json& object, std::string_view key, bool otherwise, std::string_view what) {
  const auto found = object.find(std::string(key));
  if (found == object.end()) return otherwise;
  if (!found->is_boolean()) refuse(what, fmt::format("'{}' is not true or false", key));
  return found->get<bool>();
}

const Json& list(const Json& object, std::string_view key, std::string_view what) {
  const Json& value = field(object, key, what);
  if (!value.is_array()) refuse(what, fmt::format("'{}' is not a list", key));
  return value;
}

}  // namespace dure::component
