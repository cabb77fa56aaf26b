// See model_argument.h.
#include "cli/model_argument.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/closest.h"
#include "base/error.h"
#include "base/units.h"
#include "model/load_spec.h"
#include "model/presets.h"

namespace dure {
namespace {

namespace fs = std::filesystem;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool names_a_file(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".json") ||
         text.ends_with(".gguf") || text.ends_with(".safetensors");
}

// A symbolic link that leads nowhere, or a folder that may not be looked into, is a path too: the
// reader says what is wrong with it.
bool is_path(const std::string& text) {
  std::error_code status;
  return fs::symlink_status(text, status).type() != fs::file_type::not_found;
}

// No preset begins with a number, so what does and is no path is meant as a size.
bool looks_like_a_size(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && is_digit(text[0]) && !names_a_file(text);
}

// "owner/Name", as hubs call models.
std::string without_owner(const std::string& text) {
  const size_t slash = text.find('/');
  const bool one = slash != std::string::npos && text.find('/', slash + 1) == std::string::npos;
  return one && slash > 0 && text[0] != '.' && text[0] != '~' ? text.substr(slash + 1) : text;
}

[[noreturn]] void throw_unknown(const std::string& text) {
  if (text.empty()) throw_bad_input("MODEL is empty", "name a folder, a config.json or a preset");
  std::string name = without_owner(text);
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  throw_bad_input(
      fmt::format("{}: no such file, folder or preset", text),
      fmt::format("the closest preset is {}; `dure inspect --help` lists them. Else a model is a "
                  "Hugging Face folder or its config.json",
                  closest(name, preset_names()).value_or("")));
}

}  // namespace

std::optional<int64_t> parameters_if_size(const std::string& model) {
  if (is_path(model) || !looks_like_a_size(model)) return std::nullopt;
  return parse_count(model, "MODEL");
}

ModelSpec planned_spec(const std::string& model) {
  if (is_path(model)) return load_spec(model);
  if (const Preset* preset = find_preset(model)) return spec_of(*preset);
  if (!names_a_file(without_owner(model))) throw_unknown(model);
  return load_spec(model);  // says what is missing
}

}  // namespace dure
