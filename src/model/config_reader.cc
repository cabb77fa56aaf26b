// See config_reader.h.
#include "model/config_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace dure {
namespace {

constexpr IntRange any_integer{INT64_MIN, INT64_MAX};

// Values are shown shortened: they come from outside and may be megabytes.
std::string shown(const Json& value) {
  if (value.is_object() || value.is_array()) {
    return fmt::format("an {} of {} entries", value.is_object() ? "object" : "array", value.size());
  }
  const std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 57) + "…";
}

}  // namespace

ConfigReader::ConfigReader(const Json& object, std::string what, std::string prefix)
    : object_(object), what_(std::move(what)), prefix_(std::move(prefix)) {
  if (object_.is_object()) return;
  throw_bad_input(fmt::format("{}: {} is {} where an object was expected", what_,
                              prefix_.empty() ? "the top level" : prefix_, shown(object_)),
                  "a config.json is one JSON object with a model_type");
}

void ConfigReader::spelled(std::string_view key, std::string_view name) {
  names_.insert_or_assign(std::string(key), std::string(name));
}

std::string ConfigReader::name_of(std::string_view key) const {
  const auto found = names_.find(key);
  return found == names_.end() ? std::string(key) : found->second;
}

std::string ConfigReader::path_of(const std::string& name) const {
  return prefix_.empty() ? name : fmt::format("{}.{}", prefix_, name);
}

void ConfigReader::fail(std::string_view key, std::string_view problem, std::string hint) const {
  fail_at(name_of(key), problem, std::move(hint));
}

void ConfigReader::fail_at(const std::string& name, std::string_view problem,
                           std::string hint) const {
  const std::string field = path_of(name);
  if (hint.empty()) hint = "compare the file with the one that the model was released with";
  throw_bad_input(fmt::format("{}: {}: {}", what_, field, problem), std::move(hint), field);
}

const Json* ConfigReader::find(std::string_view key) {
  const std::string name = name_of(key);
  used_.insert(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

const Json* ConfigReader::find_value(std::string_view key) {
  if (mentions(key) && !has(key)) {
    fail(key, "null, but this family needs a value",
         "state the value, or leave the key out for the family's default");
  }
  return find(key);
}

const Json& ConfigReader::need(std::string_view key) {
  const Json* value = find(key);
  if (value == nullptr) fail(key, "missing", "the file is not complete, or of another family");
  return *value;
}

bool ConfigReader::has(std::string_view key) const {
  const auto found = object_.find(name_of(key));
  return found != object_.end() && !found->is_null();
}

bool ConfigReader::mentions(std::string_view key) const {
  return object_.contains(name_of(key));
}

void ConfigReader::require(std::string_view key) const {
  if (has(key)) return;
  fail(key, "missing, and implementations of this family differ in what that means",
       "state it as the model was trained");
}

int64_t ConfigReader::integer(std::string_view key, IntRange range) {
  return integer_of(key, need(key), range);
}

int64_t ConfigReader::integer_of(std::string_view key, const Json& value, IntRange range) const {
  // 4096.0 is an integer to the tools that write these files.
  const bool whole = value.is_number_integer() ||
                     (value.is_number_float() && std::abs(value.get<double>()) < 1e15 &&
                      std::floor(value.get<double>()) == value.get<double>());
  if (!whole) fail(key, fmt::format("{} where an integer was expected", shown(value)));
  const bool too_large = value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX;
  const int64_t number = too_large ? INT64_MAX : value.get<int64_t>();
  if (too_large || number < range.least || number > range.most) {
    fail(key, fmt::format("{} is not between {} and {}", shown(value), range.least, range.most));
  }
  return number;
}

int64_t ConfigReader::integer_or(std::string_view key, int64_t otherwise, IntRange range) {
  return find_value(key) == nullptr ? otherwise : integer(key, range);
}

std::optional<int64_t> ConfigReader::optional_integer(std::string_view key, IntRange range) {
  if (find(key) == nullptr) return std::nullopt;
  return integer(key, range);
}

double ConfigReader::number(std::string_view key, double least, double most) {
  const Json& value = need(key);
  if (!value.is_number()) fail(key, fmt::format("{} where a number was expected", shown(value)));
  const auto number = value.get<double>();
  if (!(number >= least && number <= most)) {
    fail(key, fmt::format("{} is not between {} and {}", shown(value), least, most));
  }
  return number;
}

double ConfigReader::number_or(std::string_view key, double otherwise, double least, double most) {
  return find_value(key) == nullptr ? otherwise : number(key, least, most);
}

std::optional<double> ConfigReader::optional_number(std::string_view key, double least,
                                                    double most) {
  if (find(key) == nullptr) return std::nullopt;
  return number(key, least, most);
}

bool ConfigReader::boolean_or(std::string_view key, bool otherwise) {
  const Json* value = find(key);
  if (value == nullptr) return mentions(key) ? false : otherwise;
  if (!value->is_boolean()) {
    fail(key, fmt::format("{} where true or false was expected", shown(*value)));
  }
  return value->get<bool>();
}

bool ConfigReader::truth_or(std::string_view key, bool otherwise) {
  const Json* value = find(key);
  if (value != nullptr && value->is_number()) return value->get<double>() != 0.0;
  return boolean_or(key, otherwise);
}

std::string ConfigReader::text(std::string_view key) {
  const Json& value = need(key);
  if (!value.is_string()) fail(key, fmt::format("{} where text was expected", shown(value)));
  return value.get<std::string>();
}

std::string ConfigReader::text_or(std::string_view key, std::string otherwise) {
  return find_value(key) == nullptr ? std::move(otherwise) : text(key);
}

std::string ConfigReader::optional_text(std::string_view key) {
  return find(key) == nullptr ? "" : text(key);
}

std::vector<int64_t> ConfigReader::integers_or_empty(std::string_view key, IntRange range,
                                                     size_t most_entries) {
  const Json* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_array()) fail(key, fmt::format("{} where a list was expected", shown(*value)));
  return integer_or_list(key, range, most_entries);
}

std::vector<int64_t> ConfigReader::integer_or_list(std::string_view key, IntRange range,
                                                   size_t most_entries) {
  const Json* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_array()) return {integer(key, range)};
  if (value->size() > most_entries) {
    fail(key, fmt::format("{} entries, more than {}", value->size(), most_entries));
  }
  std::vector<int64_t> numbers;
  for (const Json& entry : *value) numbers.push_back(integer_of(key, entry, range));
  return numbers;
}

std::vector<int64_t> ConfigReader::integers_of_layers(std::string_view key, IntRange range,
                                                      int64_t layers) {
  const auto most_entries = static_cast<size_t>(layers);
  std::vector<int64_t> numbers = integer_or_list(key, range, most_entries);
  const Json* value = find(key);
  if (value != nullptr && value->is_array() && numbers.size() != most_entries) {
    fail(key, fmt::format("{} entries for {} layers", numbers.size(), layers));
  }
  return numbers;
}

std::vector<double> ConfigReader::numbers_or_empty(std::string_view key, double least, double most,
                                                   size_t most_entries) {
  const Json* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_array()) fail(key, fmt::format("{} where a list was expected", shown(*value)));
  if (value->size() > most_entries) {
    fail(key, fmt::format("{} entries, more than {}", value->size(), most_entries));
  }
  std::vector<double> numbers;
  for (const Json& entry : *value) {
    if (!entry.is_number()) fail(key, fmt::format("{} where a number was expected", shown(entry)));
    numbers.push_back(entry.get<double>());
    if (!(numbers.back() >= least && numbers.back() <= most)) {
      fail(key, fmt::format("{} is not between {} and {}", shown(entry), least, most));
    }
  }
  return numbers;
}

std::vector<std::string> ConfigReader::texts_or_empty(std::string_view key, size_t most_entries) {
  const Json* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_array()) fail(key, fmt::format("{} where a list was expected", shown(*value)));
  if (value->size() > most_entries) {
    fail(key, fmt::format("{} entries, more than {}", value->size(), most_entries));
  }
  std::vector<std::string> texts;
  for (const Json& entry : *value) {
    if (!entry.is_string()) fail(key, fmt::format("{} where text was expected", shown(entry)));
    texts.push_back(entry.get<std::string>());
  }
  return texts;
}

std::optional<ConfigReader> ConfigReader::object(std::string_view key) {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  return ConfigReader(*value, what_, path_of(name_of(key)));
}

std::vector<std::pair<std::string, ConfigReader>> ConfigReader::members(std::string_view key,
                                                                        size_t most_entries) {
  const Json* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_object()) {
    fail(key, fmt::format("{} where an object was expected", shown(*value)));
  }
  if (value->size() > most_entries) {
    fail(key, fmt::format("{} entries, more than {}", value->size(), most_entries));
  }
  std::vector<std::pair<std::string, ConfigReader>> all;
  for (const auto& [name, member] : value->items()) {
    all.emplace_back(name, ConfigReader(member, what_, path_of(name_of(key)) + "." + name));
  }
  return all;
}

std::vector<ConfigReader> ConfigReader::objects(std::string_view key, size_t most_entries) {
  const Json* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_array()) fail(key, fmt::format("{} where a list was expected", shown(*value)));
  if (value->size() > most_entries) {
    fail(key, fmt::format("{} entries, more than {}", value->size(), most_entries));
  }
  std::vector<ConfigReader> all;
  for (size_t i = 0; i < value->size(); ++i) {
    all.emplace_back((*value)[i], what_, fmt::format("{}[{}]", path_of(name_of(key)), i));
  }
  return all;
}

void ConfigReader::only_empty(std::string_view key) {
  const Json* value = find(key);
  if (value != nullptr && !value->empty()) fail(key, "is not supported but empty");
}

void ConfigReader::only_flag(std::string_view key, bool expected) {
  if (boolean_or(key, expected) != expected) {
    fail(key, fmt::format("{} is not supported for this family", !expected));
  }
}

void ConfigReader::only_text(std::string_view key, std::string_view expected) {
  const std::string value = text_or(key, std::string(expected));
  if (value != expected) {
    fail(key, fmt::format("\"{:.60}\" is not supported, only \"{}\"", value, expected));
  }
}

void ConfigReader::only_integer(std::string_view key, int64_t expected) {
  const int64_t value = optional_integer(key, any_integer).value_or(expected);
  if (value == expected) return;
  fail(key, fmt::format("{} is not supported here, only {}", value, expected));
}

void ConfigReader::only_integer_of_layers(std::string_view key, int64_t expected, int64_t layers) {
  for (const int64_t value : integers_of_layers(key, any_integer, layers)) {
    if (value != expected) {
      fail(key, fmt::format("{} is not supported here, only {}", value, expected));
    }
  }
}

size_t ConfigReader::one_of(std::string_view key, std::string_view otherwise,
                            std::initializer_list<std::string_view> names) {
  const std::string value = text_or(key, std::string(otherwise));
  const auto found = std::find(names.begin(), names.end(), value);
  if (found == names.end()) {
    fail(key, fmt::format("\"{:.60}\" is not supported", value),
         fmt::format("supported: {}", fmt::join(names, ", ")));
  }
  return static_cast<size_t>(found - names.begin());
}

void ConfigReader::refuse(std::string_view key, std::string_view reason) {
  if (find(key) != nullptr) fail(key, reason);
}

void ConfigReader::ignore(std::string_view key) {
  used_.insert(name_of(key));
}

void ConfigReader::ignore(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) ignore(key);
}

void ConfigReader::finish() const {
  for (const auto& [key, value] : object_.items()) {
    if (used_.contains(key) || value.is_null()) continue;
    fail_at(key.size() <= 80 ? key : key.substr(0, 77) + "…",
            "a setting that this family does not have here, so its effect is unknown",
            "if it changes nothing at inference, remove it from the file");
  }
}

}  // namespace dure
