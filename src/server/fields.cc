// See fields.h.
#include "server/fields.h"

#include <fmt/format.h>

#include <algorithm>
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

size_t characters(const std::string& utf8) {
  return static_cast<size_t>(std::count_if(utf8.begin(), utf8.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
  }));
}

Json or_null(const Json& schema) {
  return Json{{"anyOf", Json::array({schema, Json{{"type", "null"}}})}};
}

Json text_schema(size_t longest) {
  return {{"type", "string"}, {"minLength", 1}, {"maxLength", longest}};
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

Json describe_fields(const Fields::Reader& read) {
  Json schema = {{"type", "object"}, {"properties", Json::object()}};
  Fields fields(Fields::Describing{}, schema);
  read(fields);
  return schema;
}

Fields::Fields(const Json& object, std::string where) : object_(&object), where_(std::move(where)) {
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

void Fields::describe(std::string_view name, const Json& schema) {
  if (schema_ != nullptr) (*schema_)["properties"][std::string(name)] = schema;
}

const Json* Fields::look_up(std::string_view name) {
  known_.emplace(name);
  if (schema_ != nullptr) return nullptr;
  const auto found = object_->find(name);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

bool Fields::has(std::string_view name) const {
  if (schema_ != nullptr) return false;
  const auto found = object_->find(name);
  return found != object_->end() && !found->is_null();
}

const Json* Fields::find(std::string_view name, const Json& schema) {
  return find_described(name, [&] { return schema; });
}

template <class Schema>
const Json* Fields::find_described(std::string_view name, const Schema& schema) {
  if (schema_ != nullptr) describe(name, or_null(schema()));
  return look_up(name);
}

std::optional<bool> Fields::boolean(std::string_view name) {
  const Json* value = find_described(name, [] { return Json{{"type", "boolean"}}; });
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) fail(name, "must be true or false, not " + quoted(*value));
  return value->get<bool>();
}

std::optional<double> Fields::number(std::string_view name, double least, double most) {
  const Json* value = find_described(name, [&] {
    return Json{{"type", "number"}, {"minimum", least}, {"maximum", most}};
  });
  if (value == nullptr) return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (!(number >= least && number <= most)) {
    fail(name, fmt::format("must be a number from {} to {}, not {}", least, most, quoted(*value)));
  }
  return number;
}

std::optional<double> Fields::number_above(std::string_view name, double bound, double most) {
  const Json* value = find_described(name, [&] {
    return Json{{"type", "number"}, {"exclusiveMinimum", bound}, {"maximum", most}};
  });
  if (value == nullptr) return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (!(number > bound && number <= most)) {
    fail(name, fmt::format("must be a number above {} and at most {}, not {}", bound, most,
                           quoted(*value)));
  }
  return number;
}

std::optional<int64_t> Fields::integer(std::string_view name, int64_t least, int64_t most) {
  const Json* value = find_described(name, [&] {
    return Json{{"type", "integer"}, {"minimum", least}, {"maximum", most}};
  });
  if (value == nullptr) return std::nullopt;
  const std::optional<int64_t> number = whole(*value);
  if (!number || *number < least || *number > most) {
    fail(name,
         fmt::format("must be a whole number from {} to {}, not {}", least, most, quoted(*value)));
  }
  return number;
}

std::optional<std::string> Fields::text(std::string_view name, size_t longest) {
  const Json* value = find_described(name, [&] {
    Json schema = {{"type", "string"}};
    if (longest != SIZE_MAX) schema["maxLength"] = longest;
    return schema;
  });
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) fail(name, "must be a string, not " + quoted(*value));
  auto text = value->get<std::string>();
  if (text.size() > longest && characters(text) > longest) {
    fail(name,
         fmt::format("must not have {} characters; {} is the most", characters(text), longest));
  }
  return text;
}

std::optional<std::string> Fields::choice(std::string_view name,
                                          std::initializer_list<const char*> values) {
  const Json* value = find_described(name, [&] {
    return Json{{"enum", std::vector<std::string>(values.begin(), values.end())}};
  });
  if (value == nullptr) return std::nullopt;
  for (const char* known : values) {
    if (*value == known) return known;
  }
  fail(name, fmt::format("must be one of {}, not {}", fmt::join(values, ", "), quoted(*value)));
}

std::vector<std::string> Fields::texts(std::string_view name, size_t most, size_t longest) {
  const Json* value = find_described(name, [&] {
    const Json one = text_schema(longest);
    const Json list = {{"type", "array"}, {"maxItems", most}, {"items", one}};
    return Json{{"anyOf", Json::array({one, list})}};
  });
  if (value == nullptr) return {};
  if (!value->is_string() && !value->is_array()) {
    fail(name, "must be a string or a list of strings, not " + quoted(*value));
  }
  std::vector<std::string> list;
  for (const Json& entry : value->is_array() ? *value : Json::array({*value})) {
    if (!entry.is_string()) fail(name, "must hold strings only, not " + quoted(entry));
    list.push_back(entry.get<std::string>());
    if (list.back().empty()) fail(name, "must not hold an empty string");
    if (const size_t length = characters(list.back()); length > longest) {
      fail(name,
           fmt::format("must not hold a string of {} characters; {} is the most", length, longest));
    }
  }
  if (list.size() > most) {
    fail(name, fmt::format("may have {} strings, not {}", most, list.size()));
  }
  return list;
}

std::vector<int32_t> Fields::tokens(std::string_view name, int32_t vocab) {
  const Json* value = find_described(name, [&] { return token_ids_schema(vocab); });
  return value == nullptr ? std::vector<int32_t>{} : token_ids(*value, path(name), vocab);
}

const Json* Fields::object(std::string_view name, const Reader& read) {
  if (schema_ != nullptr) describe(name, or_null(describe_fields(read)));
  const Json* value = look_up(name);
  if (value == nullptr) return nullptr;
  Fields inner(*value, path(name));
  read(inner);
  return value;
}

const Json* Fields::objects(std::string_view name, size_t least, const Reader& read) {
  if (schema_ != nullptr) {
    describe(name,
             or_null({{"type", "array"}, {"minItems", least}, {"items", describe_fields(read)}}));
  }
  const Json* value = look_up(name);
  if (value == nullptr) return nullptr;
  if (!value->is_array()) fail(name, "must be a list of objects, not " + quoted(*value));
  if (value->size() < least) {
    fail(name, fmt::format("must have at least {} {}", least, least == 1 ? "entry" : "entries"));
  }
  return read_each(name, *value, read);
}

const Json* Fields::text_or_objects(std::string_view name, const Reader& read) {
  if (schema_ != nullptr) {
    describe(name,
             Json{{"anyOf", Json::array({Json{{"type", "string"}},
                                         Json{{"type", "array"}, {"items", describe_fields(read)}},
                                         Json{{"type", "null"}}})}});
  }
  const Json* value = look_up(name);
  if (value == nullptr || value->is_string()) return value;
  if (!value->is_array()) {
    fail(name, "must be a string or a list of objects, not " + quoted(*value));
  }
  return read_each(name, *value, read);
}

const Json* Fields::read_each(std::string_view name, const Json& list, const Reader& read) {
  for (size_t i = 0; i < list.size(); ++i) {
    Fields inner(list[i], fmt::format("{}[{}]", path(name), i));
    read(inner);
  }
  return &list;
}

void Fields::require(std::string_view name) {
  if (schema_ == nullptr) {
    if (!has(name)) fail(name, "is missing");
    return;
  }
  (*schema_)["required"].push_back(name);
  Json& forms = (*schema_)["properties"][std::string(name)]["anyOf"];
  forms.erase(forms.size() - 1);  // the null
}

void Fields::require_unless(std::string_view other, std::string_view value, std::string_view name) {
  if (schema_ == nullptr) {
    if (!has(other) || (*object_)[std::string(other)] != value) require(name);
    return;
  }
  const Json is_value = {{"properties", {{std::string(other), {{"const", value}}}}},
                         {"required", {other}}};
  const Json is_there = {{"properties", {{std::string(name), {{"not", {{"type", "null"}}}}}}},
                         {"required", {name}}};
  (*schema_)["anyOf"] = Json::array({is_value, is_there});
}

void Fields::require_if(std::string_view other, std::string_view value, std::string_view name) {
  if (schema_ == nullptr) {
    if (has(other) && (*object_)[std::string(other)] == value) require(name);
    return;
  }
  const Json is_not_value = {{"properties", {{std::string(other), {{"not", {{"const", value}}}}}}}};
  const Json is_there = {{"properties", {{std::string(name), {{"not", {{"type", "null"}}}}}}},
                         {"required", {name}}};
  (*schema_)["anyOf"] = Json::array({is_not_value, is_there});
}

Json token_ids_schema(int32_t vocab) {
  return {{"type", "array"},
          {"items", {{"type", "integer"}, {"minimum", 0}, {"maximum", vocab - 1}}}};
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
  for (const std::string_view name : names) {
    known_.emplace(name);
    describe(name, {{"description", "Known, and without effect."}});
  }
}

void Fields::unsupported(std::string_view name, std::initializer_list<Json> harmless) {
  if (schema_ != nullptr) {
    Json values = Json::array({nullptr, false, 0, Json::array(), Json::object()});
    for (const Json& fine : harmless) values.push_back(fine);
    describe(name, {{"description", "Not supported: only values that ask for nothing."},
                    {"enum", std::move(values)}});
  }
  const Json* value = look_up(name);
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

void Fields::refuse_unknown() {
  if (schema_ != nullptr) {
    (*schema_)["additionalProperties"] = false;
    return;
  }
  for (const auto& [name, value] : object_->items()) {
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
