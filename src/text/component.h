// Reading the components of tokenizer.json ({"type": "Split", ...}) with errors that name the
// field.
#pragma once

#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/json.h"

namespace dure::component {

// All throw bad_input naming `what`, which is the file and the path of the component in it.
[[noreturn]] void refuse(std::string_view what, std::string_view why);

// The "type" of an object that has no other keys than `keys`; each component lists its own.
std::string type(const Json& object, std::string_view what);
void only_keys(const Json& object, std::initializer_list<std::string_view> keys,
               std::string_view what);

const Json& field(const Json& object, std::string_view key, std::string_view what);
std::string text(const Json& object, std::string_view key, std::string_view what);
bool flag(const Json& object, std::string_view key, bool otherwise, std::string_view what);
// The members of an array field, for sequences of components.
const Json& list(const Json& object, std::string_view key, std::string_view what);

}  // namespace dure::component
