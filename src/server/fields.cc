// See fields.h.
#include "server/fields.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/closest.h"
#include "base/error.h"

namespace dure {
namespace {

// Whole numbers written as 4.0 count, as JSON makes no difference.
std::optional<int64_t> whole(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    if (number > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
    return static_cast<int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (std::trunc(number) == number && std::fabs(number) < 9e15) {
      return static_cast<int64_t>(number);
    }
  }
  return std::nullopt;
}

}  // namespace

std::string quoted(const Json& value) {
  constexpr size_t most = 40;
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() <= most) return text;
  size_t cut = most;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
  return text.substr(0, cut) + "…";
}

Fields::Fields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
  if (object.is_object()) return;
  throw_bad_input(fmt::format("{} must be an object, not {}",
                              where_.empty() ? "the request body" : where_, quoted(object)),
                  "", where_);
}

std::string Fields::path(std::string_view name) const {
  return where_.empty() ? std::string(name) : fmt::format("{}.{}", where_, name);
}

void Fields::fail(std::string_view name, const std::string& what) const {
  throw_bad_input(fmt::format("{} {}", path(name), what), "", path(name));
}

const Json* Fields::find(std::string_view name) {
  known_.emplace(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<bool> Fields::boolean(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) fail(name, "must be true or false, not " + quoted(*value));
  return value->get<bool>();
}

std::optional<double> Fields::number(std::string_view name, double least, double most) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (!(number >= least && number <= most)) {
    fail(name, fmt::format("must be a number from {} to {}, not {}", least, most, quoted(*value)));
  }
  return number;
}

std::optional<int64_t> Fields::integer(std::string_view name, int64_t least, int64_t most) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  const std::optional<int64_t> number = whole(*value);
  if (!number || *number < least || *number > most) {
    fail(name,
         fmt::format("must be a whole number from {} to {}, not {}", least, most, quoted(*value)));
  }
  return number;
}

std::optional<std::string> Fields::text(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) fail(name, "must be a string, not " + quoted(*value));
  return value->get<std::string>();
}

std::vector<std::string> Fields::texts(std::string_view name) {
  const Json* value = find(name);
  if (value == nullptr) return {};
  if (value->is_string()) return {value->get<std::string>()};
  if (!value->is_array()) fail(name, "must be a string or a list of strings");
  std::vector<std::string> list;
  for (const Json& entry : *value) {
    if (!entry.is_string()) fail(name, "must hold strings only, not " + quoted(entry));
    list.push_back(entry.get<std::string>());
  }
  return list;
}

std::vector<int32_t> Fields::tokens(std::string_view name, int32_t vocab) {
  const Json* value = find(name);
  return value == nullptr ? std::vector<int32_t>{} : token_ids(*value, path(name), vocab);
}

std::vector<int32_t> token_ids(const Json& list, const std::string& field, int32_t vocab) {
  if (!list.is_array()) throw_bad_input(field + " must be a list of token ids", "", field);
  std::vector<int32_t> ids;
  ids.reserve(list.size());
  for (const Json& entry : list) {
    const std::optional<int64_t> id = whole(entry);
    if (!id || *id < 0 || *id >= vocab) {
      throw_bad_input(fmt::format("{} must hold token ids from 0 to {}, not {}", field, vocab - 1,
                                  quoted(entry)),
                      "", field);
    }
    ids.push_back(static_cast<int32_t>(*id));
  }
  return ids;
}

void Fields::ignore(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) known_.emplace(name);
}

void Fields::unsupported(std::string_view name, std::initializer_list<Json> harmless) {
  const Json* value = find(name);
  if (value == nullptr || (value->is_boolean() && !value->get<bool>()) ||
      (value->is_structured() && value->empty())) {
    return;
  }
  if (value->is_number() && value->get<double>() == 0.0) return;
  for (const Json& fine : harmless) {
    if (*value == fine) return;
  }
  throw_bad_input(fmt::format("{} is not supported by this server", path(name)),
                  "leave the field out", path(name));
}

void Fields::refuse_unknown() const {
  for (const auto& [name, value] : object_.items()) {
    if (known_.contains(name)) continue;
    const std::string short_name = quoted(Json(name));
    const std::string field = path(name.substr(0, 64));
    const std::vector<std::string> names(known_.begin(), known_.end());
    const auto near = name.size() > 64 ? std::nullopt : closest(name, names);
    throw_bad_input(
        fmt::format("{}{}{} is not a known field", where_, where_.empty() ? "" : ".", short_name),
        near ? fmt::format("did you mean {}?", *near) : "", field);
  }
}

}  // namespace dure
