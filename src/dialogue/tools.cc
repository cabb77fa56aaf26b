// See tools.h.
#include "dialogue/tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace dure {
namespace {

constexpr size_t longest_name = 64;

[[noreturn]] void refuse(const std::string& field, const std::string& what,
                         const std::string& hint = "") {
  throw_bad_input(field + " " + what, hint, field);
}

const Json* find(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

bool is_tool_name(const std::string& name) {
  const auto allowed = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_' || letter == '.' || letter == '-';
  };
  return !name.empty() && name.size() <= longest_name &&
         std::all_of(name.begin(), name.end(), allowed);
}

const Json& function_of(const Json& holder, const std::string& where, bool needs_type) {
  if (!holder.is_object()) refuse(where, "must be an object");
  const Json* type = find(holder, "type");
  if (type == nullptr && needs_type) refuse(where + ".type", "is missing");
  if (type != nullptr && *type != "function") {
    refuse(where + ".type", "must be \"function\": this server runs no tools of its own");
  }
  const Json* function = find(holder, "function");
  if (function == nullptr) refuse(where + ".function", "is missing");
  if (!function->is_object()) refuse(where + ".function", "must be an object");
  return *function;
}

std::string name_of(const Json& function, const std::string& where) {
  const Json* name = find(function, "name");
  if (name == nullptr) refuse(where + ".name", "is missing");
  if (!name->is_string()) refuse(where + ".name", "must be a string");
  return name->get<std::string>();
}

Tool read_tool(const Json& json, const std::string& where) {
  const Json& function = function_of(json, where, true);
  const std::string inside = where + ".function";
  Tool tool;
  tool.name = name_of(function, inside);
  if (!is_tool_name(tool.name)) {
    refuse(inside + ".name", "must be 1 to 64 letters, digits, dots, dashes and underscores");
  }
  const Json* description = find(function, "description");
  if (description != nullptr && !description->is_string()) {
    refuse(inside + ".description", "must be a string");
  }
  if (const Json* parameters = find(function, "parameters")) {
    if (!parameters->is_object()) refuse(inside + ".parameters", "must be an object");
    tool.parameters = std::make_shared<const Json>(*parameters);
  }
  if (const Json* strict = find(function, "strict")) {
    if (!strict->is_boolean()) refuse(inside + ".strict", "must be true or false");
    tool.strict = strict->get<bool>();
  }
  return tool;
}

void check_calls(const Json& calls, const std::string& where) {
  if (!calls.is_array()) refuse(where, "must be a list");
  for (size_t i = 0; i < calls.size(); ++i) {
    const std::string call = fmt::format("{}[{}]", where, i);
    const Json& function = function_of(calls[i], call, false);
    if (name_of(function, call + ".function").empty()) {
      refuse(call + ".function.name", "must not be empty");
    }
    const Json* id = find(calls[i], "id");
    if (id != nullptr && !id->is_string()) refuse(call + ".id", "must be a string");
    const Json* arguments = find(function, "arguments");
    if (arguments != nullptr && !arguments->is_string() && !arguments->is_object()) {
      refuse(call + ".function.arguments", "must be JSON text or an object");
    }
  }
}

}  // namespace

std::vector<Tool> read_tools(const Json* tools) {
  std::vector<Tool> read;
  if (tools == nullptr || tools->is_null()) return read;
  if (!tools->is_array()) refuse("tools", "must be a list");
  for (size_t i = 0; i < tools->size(); ++i) {
    const std::string where = fmt::format("tools[{}]", i);
    Tool tool = read_tool((*tools)[i], where);
    const auto same = [&](const Tool& other) { return other.name == tool.name; };
    if (std::any_of(read.begin(), read.end(), same)) {
      refuse(where + ".function.name", fmt::format("is \"{}\" for the second time", tool.name),
             "a call could not be told from the other tool's");
    }
    read.push_back(std::move(tool));
  }
  return read;
}

ToolChoice read_tool_choice(const Json* choice, const std::vector<Tool>& tools) {
  using Kind = ToolChoice::Kind;
  const std::string field = "tool_choice";
  if (choice == nullptr || choice->is_null()) {
    return {tools.empty() ? Kind::none : Kind::automatic, ""};
  }
  if (*choice == "none") return {Kind::none, ""};
  if (*choice == "auto") return {tools.empty() ? Kind::none : Kind::automatic, ""};
  if (*choice == "required") {
    if (tools.empty()) refuse(field, "is \"required\", but the request has no tools");
    return {Kind::required, ""};
  }
  if (!choice->is_object()) {
    refuse(field, "must be \"none\", \"auto\", \"required\" or an object that names a function");
  }
  const std::string name = name_of(function_of(*choice, field, true), field + ".function");
  const auto named = [&](const Tool& tool) { return tool.name == name; };
  if (std::none_of(tools.begin(), tools.end(), named)) {
    refuse(field, fmt::format("names \"{:.64}\", which is not among the tools", name));
  }
  return {Kind::named, name};
}

void check_history(const Json& messages) {
  if (!messages.is_array()) refuse("messages", "must be a list");
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string where = fmt::format("messages[{}]", i);
    if (!messages[i].is_object()) refuse(where, "must be an object");
    if (const Json* calls = find(messages[i], "tool_calls")) {
      check_calls(*calls, where + ".tool_calls");
    }
    const Json* id = find(messages[i], "tool_call_id");
    if (id != nullptr && !id->is_string()) refuse(where + ".tool_call_id", "must be a string");
  }
}

}  // namespace dure
