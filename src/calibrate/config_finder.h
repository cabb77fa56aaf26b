// Which config.json describes the model that a measured row names: rows name finetunes and
// re-quantized copies, whose shapes are those of a release.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dure {

class ConfigFinder {
 public:
  // Files named ORG--MODEL.json or ORG--MODEL_config.json; earlier folders win, those that do not
  // exist are empty.
  explicit ConfigFinder(const std::vector<std::filesystem::path>& folders);

  // By the whole name; else by the model's without its organisation; else by what is left of it
  // without words for number formats and tuning; else the longest such name that it begins with.
  // Nothing if no file fits.
  std::optional<std::filesystem::path> find(std::string_view model) const;

 private:
  struct File {
    std::filesystem::path path;
    std::string organisation;        // lower case
    std::string name;                // lower case
    std::vector<std::string> words;  // that tell shapes apart
  };

  std::vector<File> files_;
};

}  // namespace dure
