// See config_finder.h.
#include "calibrate/config_finder.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace dure {
namespace {

namespace fs = std::filesystem;

std::string lower(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return small;
}

// What finetuning and re-quantizing add to a name and does not change a shape.
bool is_idle(const std::string& word) {
  constexpr std::array<std::string_view, 40> idle = {
      "meta",      "nvidia",     "hf",       "fp8",  "fp16",    "bf16",   "fp32",    "fp4",
      "nvfp4",     "mxfp4",      "int4",     "int8", "w8a8",    "w8a16",  "w4a16",   "w4a4",
      "awq",       "gptq",       "gguf",     "bnb",  "dynamic", "static", "block",   "quantized",
      "pertensor", "perchannel", "instruct", "it",   "chat",    "base",   "sft",     "dpo",
      "rl",        "thinking",   "coder",    "math", "code",    "text",   "preview", "distill"};
  // A month of release (2503) or a day of it (0731).
  const bool date = word.size() == 4 && std::all_of(word.begin(), word.end(), [](unsigned char c) {
                      return std::isdigit(c) != 0;
                    });
  return date || std::find(idle.begin(), idle.end(), word) != idle.end();
}

std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : name + "-") {
    if (c != '-' && c != '_' && c != ' ') {
      word += c;
      continue;
    }
    // "quantized.w4a16": the part after the dot is a format.
    if (word.starts_with("quantized.")) word.clear();
    if (!word.empty() && !is_idle(word)) words.push_back(word);
    word.clear();
  }
  return words;
}

std::string without(std::string text, std::string_view suffix) {
  if (text.ends_with(suffix)) text.resize(text.size() - suffix.size());
  return text;
}

bool begins_with(const std::vector<std::string>& words, const std::vector<std::string>& first) {
  return first.size() <= words.size() && std::equal(first.begin(), first.end(), words.begin());
}

}  // namespace

ConfigFinder::ConfigFinder(const std::vector<fs::path>& folders) {
  for (const fs::path& folder : folders) {
    std::vector<fs::path> paths;
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(folder, missing)) {
      if (entry.path().extension() == ".json") paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    for (const fs::path& path : paths) {
      const std::string stem = without(lower(path.stem().string()), "_config");
      const size_t dashes = stem.find("--");
      File file;
      file.path = path;
      file.organisation = dashes == std::string::npos ? "" : stem.substr(0, dashes);
      file.name = dashes == std::string::npos ? stem : stem.substr(dashes + 2);
      file.words = words_of(file.name);
      files_.push_back(std::move(file));
    }
  }
}

std::optional<fs::path> ConfigFinder::find(std::string_view model) const {
  const std::string whole = lower(model);
  const size_t slash = whole.rfind('/');
  const std::string organisation = slash == std::string::npos ? "" : whole.substr(0, slash);
  const std::string name = slash == std::string::npos ? whole : whole.substr(slash + 1);
  for (const File& file : files_) {
    if (file.name == name && file.organisation == organisation) return file.path;
  }
  for (const File& file : files_) {
    if (file.name == name) return file.path;
  }
  const std::vector<std::string> words = words_of(name);
  const File* longest = nullptr;
  for (const File& file : files_) {
    // One word alone is a family, not a shape.
    if (!begins_with(words, file.words)) continue;
    if (file.words.size() < words.size() && file.words.size() < 2) continue;
    const bool better =
        longest == nullptr || file.words.size() > longest->words.size() ||
        (file.words.size() == longest->words.size() && file.name.size() < longest->name.size());
    if (better) longest = &file;
  }
  if (longest == nullptr) return std::nullopt;
  return longest->path;
}

}  // namespace dure
