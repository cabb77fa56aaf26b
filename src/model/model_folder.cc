// See model_folder.h.
#include "model/model_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/presets.h"

namespace dure {
namespace {

namespace fs = std::filesystem;

constexpr auto expected =
    "a model is a Hugging Face folder (config.json beside *.safetensors) or a GGUF file";

// The snapshot that refs/main names, or the only one, of a hub cache folder.
std::optional<fs::path> snapshot_of(const fs::path& folder) {
  std::error_code status;
  std::string commit;
  std::ifstream(folder / "refs" / "main") >> commit;
  const bool plain = !commit.empty() && commit.find('/') == std::string::npos;
  if (plain && fs::is_directory(folder / "snapshots" / commit, status)) {
    return folder / "snapshots" / commit;
  }
  std::vector<fs::path> snapshots;
  for (const auto& entry : fs::directory_iterator(folder / "snapshots", status)) {
    if (entry.is_directory(status)) snapshots.push_back(entry.path());
  }
  std::sort(snapshots.begin(), snapshots.end());
  if (snapshots.empty()) return std::nullopt;
  return snapshots.back();
}

// A symbolic link that leads nowhere is there, though what it should lead to is not.
void throw_if_unreachable(const fs::path& file, const std::error_code& why) {
  std::error_code status;
  if (fs::symlink_status(file, status).type() != fs::file_type::symlink) return;
  throw_bad_input(fmt::format("{}: a symbolic link that leads to no file{}", file.string(),
                              why ? ": " + why.message() : std::string()),
                  "was only a part of a hub cache copied? Put the file itself there");
}

[[noreturn]] void throw_no_config(const fs::path& folder) {
  std::error_code status;
  if (fs::is_directory(folder / "snapshots", status)) {
    const std::optional<fs::path> snapshot = snapshot_of(folder);
    throw_bad_input(
        fmt::format("{}: no config.json: this is a hub cache folder, the model is in a snapshot",
                    folder.string()),
        snapshot ? fmt::format("use {}", snapshot->string())
                 : std::string("its snapshots folder is empty: download the model again"));
  }
  fs::directory_iterator looked(folder, status);
  if (status) {
    throw_bad_input(fmt::format("{}: cannot be looked into: {}", folder.string(), status.message()),
                    "the user who runs dure must be allowed to read the folder and its files");
  }
  throw_bad_input(fmt::format("{}: no config.json in this folder", folder.string()), expected);
}

}  // namespace

fs::path config_file_of(const fs::path& model) {
  std::error_code status;
  if (!fs::exists(model, status)) {
    throw_if_unreachable(model, status);
    if (find_preset(model.string()) != nullptr) {
      throw_bad_input(fmt::format("{}: a preset has no weights", model.string()),
                      "give the folder of the checkpoint; inspect, fit and plan take presets");
    }
    throw_bad_input(fmt::format("{}: no such file or folder", model.string()), expected);
  }
  if (fs::is_directory(model, status)) {
    const fs::path config = model / "config.json";
    if (fs::exists(config, status)) return config;
    throw_if_unreachable(config, status);
    throw_no_config(model);
  }
  if (model.extension() == ".json") return model;
  throw_bad_input(
      fmt::format("{}: neither a folder nor a config.json", model.string()),
      model.extension() == ".safetensors" ? "give the folder that holds this file" : expected);
}

}  // namespace dure
