// See metadata.h.
#include "gguf/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"

namespace dure {
namespace {

std::string_view kind_of(const GgufValue& value) {
  constexpr std::array<std::string_view, 8> kinds = {
      "a boolean",          "an integer",         "a number",          "a text",
      "a list of booleans", "a list of integers", "a list of numbers", "a list of texts"};
  return kinds[value.index()];
}

}  // namespace

bool GgufMetadata::add(std::string key, GgufValue value) {
  return values_.try_emplace(std::move(key), std::move(value)).second;
}

const GgufValue* GgufMetadata::find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

void GgufMetadata::fail(std::string_view key, std::string_view problem, std::string hint) const {
  if (hint.empty()) hint = "the file is damaged or was written by a broken tool: download it again";
  throw_bad_input(fmt::format("{}: {}: {}", what_, key, problem), std::move(hint),
                  std::string(key));
}

void GgufMetadata::fail_kind(std::string_view key, std::string_view wanted) const {
  const GgufValue* value = find(key);
  if (value == nullptr) fail(key, "missing");
  fail(key, fmt::format("{} where {} was expected", kind_of(*value), wanted));
}

int64_t GgufMetadata::checked(std::string_view key, int64_t value, int64_t least,
                              int64_t most) const {
  if (value >= least && value <= most) return value;
  fail(key, fmt::format("{} is outside {} to {}", value, least, most));
}

std::string GgufMetadata::text(std::string_view key) const {
  if (auto value = optional_text(key)) return *std::move(value);
  fail(key, "missing");
}

std::optional<std::string> GgufMetadata::optional_text(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* text = std::get_if<std::string>(value)) return *text;
  fail_kind(key, "a text");
}

int64_t GgufMetadata::integer(std::string_view key, int64_t least, int64_t most) const {
  if (const auto value = optional_integer(key, least, most)) return *value;
  fail(key, "missing");
}

std::optional<int64_t> GgufMetadata::optional_integer(std::string_view key, int64_t least,
                                                      int64_t most) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* integer = std::get_if<int64_t>(value)) return checked(key, *integer, least, most);
  fail_kind(key, "an integer");
}

double GgufMetadata::number(std::string_view key, double least, double most) const {
  if (const auto value = optional_number(key, least, most)) return *value;
  fail(key, "missing");
}

std::optional<double> GgufMetadata::optional_number(std::string_view key, double least,
                                                    double most) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  double number = 0.0;
  if (const auto* integer = std::get_if<int64_t>(value)) {
    number = static_cast<double>(*integer);
  } else if (const auto* fraction = std::get_if<double>(value)) {
    number = *fraction;
  } else {
    fail_kind(key, "a number");
  }
  if (!(number >= least && number <= most)) {
    fail(key, fmt::format("{} is outside {} to {}", number, least, most));
  }
  return number;
}

std::optional<bool> GgufMetadata::optional_boolean(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* boolean = std::get_if<bool>(value)) return *boolean;
  fail_kind(key, "a boolean");
}

const std::vector<std::string>& GgufMetadata::texts(std::string_view key) const {
  static const std::vector<std::string> none;
  const GgufValue* value = find(key);
  if (value == nullptr) return none;
  if (const auto* texts = std::get_if<std::vector<std::string>>(value)) return *texts;
  fail_kind(key, "a list of texts");
}

std::vector<int64_t> GgufMetadata::integers(std::string_view key, int64_t least,
                                            int64_t most) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return {};
  const auto* integers = std::get_if<std::vector<int64_t>>(value);
  if (integers == nullptr) fail_kind(key, "a list of integers");
  for (int64_t each : *integers) checked(key, each, least, most);
  return *integers;
}

std::vector<double> GgufMetadata::numbers(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return {};
  const auto* numbers = std::get_if<std::vector<double>>(value);
  if (numbers == nullptr) fail_kind(key, "a list of numbers");
  for (double each : *numbers) {
    if (!std::isfinite(each)) fail(key, "an entry is not finite");
  }
  return *numbers;
}

std::optional<int64_t> GgufMetadata::same_integer(std::string_view key, int64_t least, int64_t most,
                                                  int64_t entries) const {
  const GgufValue* value = find(key);
  if (value == nullptr || !std::holds_alternative<std::vector<int64_t>>(*value)) {
    return optional_integer(key, least, most);
  }
  const std::vector<int64_t> all = integers(key, least, most);
  if (static_cast<int64_t>(all.size()) != entries) {
    fail(key, fmt::format("{} entries for {} layers", all.size(), entries));
  }
  const auto other =
      std::find_if(all.begin(), all.end(), [&](int64_t each) { return each != all[0]; });
  if (other != all.end()) {
    fail(key,
         fmt::format("differs between layers ({} and {}), which is not supported", all[0], *other),
         "use another conversion of the model");
  }
  return all[0];
}

}  // namespace dure
