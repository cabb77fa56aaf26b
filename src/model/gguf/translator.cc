// See translator.h.
#include "model/gguf/translator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"

namespace dure {
namespace {

constexpr int64_t any_least = std::numeric_limits<int64_t>::min();
constexpr int64_t any_most = std::numeric_limits<int64_t>::max();
constexpr double any_number = 1e30;

}  // namespace

GgufTranslator::GgufTranslator(const GgufModel& model, std::string architecture, Json& document,
                               KeyNames& spelled)
    : model_(model),
      prefix_(std::move(architecture) + "."),
      document_(document),
      spelled_(spelled) {}

std::string GgufTranslator::key(std::string_view suffix) const {
  return prefix_ + std::string(suffix);
}

std::optional<int64_t> GgufTranslator::integer(std::string_view suffix) {
  read_.insert(key(suffix));
  // block_count is read first of all, and is no list.
  const auto layers = metadata().optional_integer(key("block_count"), any_least, any_most);
  return metadata().same_integer(key(suffix), any_least, any_most, layers.value_or(0));
}

int64_t GgufTranslator::required_integer(std::string_view suffix) {
  if (const auto value = integer(suffix)) return *value;
  fail(suffix, "missing");
}

std::optional<double> GgufTranslator::number(std::string_view suffix) {
  read_.insert(key(suffix));
  return metadata().optional_number(key(suffix), -any_number, any_number);
}

std::optional<bool> GgufTranslator::boolean(std::string_view suffix) {
  read_.insert(key(suffix));
  return metadata().optional_boolean(key(suffix));
}

std::string GgufTranslator::text_or(std::string_view suffix, std::string otherwise) {
  read_.insert(key(suffix));
  return metadata().optional_text(key(suffix)).value_or(std::move(otherwise));
}

void GgufTranslator::set(std::string_view config_key, const Json& value) {
  document_[std::string(config_key)] = value;
}

void GgufTranslator::set_as(std::string_view config_key, std::string_view suffix,
                            const Json& value) {
  read_.insert(key(suffix));
  document_[key(suffix)] = value;
  spelled_.emplace_back(config_key, key(suffix));
}

void GgufTranslator::size(std::string_view config_key, std::string_view suffix) {
  set_as(config_key, suffix, required_integer(suffix));
}

void GgufTranslator::optional_size(std::string_view config_key, std::string_view suffix) {
  if (const auto value = integer(suffix)) set_as(config_key, suffix, *value);
}

void GgufTranslator::optional_number(std::string_view config_key, std::string_view suffix) {
  if (const auto value = number(suffix)) set_as(config_key, suffix, *value);
}

void GgufTranslator::ignore(std::initializer_list<std::string_view> suffixes) {
  for (std::string_view suffix : suffixes) read_.insert(key(suffix));
}

void GgufTranslator::only_integer(std::string_view suffix, std::initializer_list<int64_t> values) {
  const auto value = integer(suffix);
  if (!value || std::find(values.begin(), values.end(), *value) != values.end()) return;
  fail(suffix, fmt::format("{} is not supported, only {}", *value, fmt::join(values, ", ")),
       "this setting would change the answers");
}

void GgufTranslator::only_number(std::string_view suffix, std::initializer_list<double> values) {
  const auto value = number(suffix);
  if (!value || std::find(values.begin(), values.end(), *value) != values.end()) return;
  fail(suffix, fmt::format("{} is not supported, only {}", *value, fmt::join(values, ", ")),
       "this setting would change the answers");
}

void GgufTranslator::only_boolean(std::string_view suffix, bool value) {
  if (boolean(suffix).value_or(value) == value) return;
  fail(suffix, fmt::format("{} is not supported", !value), "this setting would change the answers");
}

int64_t GgufTranslator::rows_of(std::string_view tensor) const {
  const GgufModel::Tensor* found = model_.find(tensor);
  if (found == nullptr) {
    throw_bad_input(fmt::format("{}: no {}", metadata().what(), tensor),
                    "incomplete download, or not a language model", std::string(tensor));
  }
  return found->stored.shape[0];
}

void GgufTranslator::finish() const {
  for (const auto& [name, value] : metadata().values()) {
    if (!name.starts_with(prefix_) || read_.contains(name)) continue;
    fail(name.substr(prefix_.size()), "a setting that is not known",
         "it might change the answers, so the file is refused; convert the model anew, or use "
         "another file of it");
  }
}

void GgufTranslator::fail(std::string_view suffix, std::string_view problem,
                          std::string hint) const {
  metadata().fail(key(suffix), problem, std::move(hint));
}

}  // namespace dure
