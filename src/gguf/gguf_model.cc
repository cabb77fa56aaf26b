// See gguf_model.h.
#include "gguf/gguf_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/file_entry.h"
#include "base/weights_file.h"

namespace dure {
namespace {

namespace fs = std::filesystem;

constexpr int64_t most_parts = 99999;  // of five digits
constexpr std::string_view ending = ".gguf";

// NAME-00002-of-00003.gguf
struct PartName {
  std::string stem;
  int64_t number = 0;  // from 1
  int64_t count = 0;
};

std::optional<PartName> part_name(const fs::path& file) {
  const std::string name = file.filename().string();
  constexpr std::string_view shape = "-00000-of-00000.gguf";
  if (name.size() <= shape.size()) return std::nullopt;
  const std::string_view tail = std::string_view(name).substr(name.size() - shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool digit = tail[i] >= '0' && tail[i] <= '9';
    if (shape[i] == '0' ? !digit : tail[i] != shape[i]) return std::nullopt;
  }
  PartName part{name.substr(0, name.size() - shape.size()), 0, 0};
  for (size_t i = 1; i < 6; ++i) part.number = part.number * 10 + (tail[i] - '0');
  for (size_t i = 10; i < 15; ++i) part.count = part.count * 10 + (tail[i] - '0');
  return part;
}

fs::path path_of_part(const fs::path& folder, const PartName& name, int64_t number) {
  return folder / fmt::format("{}-{:05}-of-{:05}.gguf", name.stem, number, name.count);
}

constexpr const char* give_the_file = "give the GGUF file itself";

struct Split {
  int64_t number = 1;  // of this part
  int64_t count = 1;
};

Split split_of(const GgufMetadata& metadata) {
  Split split;
  split.count =
      std::max<int64_t>(1, metadata.optional_integer("split.count", 0, most_parts).value_or(1));
  split.number = metadata.optional_integer("split.no", 0, split.count - 1).value_or(0) + 1;
  return split;
}

void check_not_joined(const GgufHeader& header, const Split& split, const fs::path& path) {
  if (!header.another_file_follows) return;
  if (split.count > 1) {
    throw_bad_input(fmt::format("{}: part {} of {} with another file behind it: parts must not be "
                                "concatenated",
                                path.string(), split.number, split.count),
                    "put the parts side by side under their own names, or merge them with "
                    "llama-gguf-split --merge");
  }
  throw_bad_input(fmt::format("{}: another GGUF file is joined to its end", path.string()),
                  "were two files concatenated? Give each its own");
}

void check_is_first(const Split& split, const fs::path& path) {
  if (split.number == 1) return;
  const auto name = part_name(path);
  throw_bad_input(fmt::format("{}: part {} of {}", path.string(), split.number, split.count),
                  name ? fmt::format("give the first part: {}",
                                     path_of_part(path.parent_path(), *name, 1).string())
                       : "give the first part");
}

PartName name_of_first(const fs::path& path, const Split& split) {
  auto name = part_name(path);
  if (name && name->number == 1 && name->count == split.count) return *std::move(name);
  throw_bad_input(fmt::format("{}: part 1 of {}, but not named so", path.string(), split.count),
                  fmt::format("parts lie side by side as NAME-00001-of-{:05}.gguf and so on; they "
                              "must not be renamed or concatenated",
                              split.count));
}

class SetOpener {
 public:
  GgufModel open(const fs::path& first) {
    GgufHeader header = add(first);
    const Split split = split_of(header.metadata);
    check_is_first(split, first);
    if (split.count > 1) {
      const PartName name = name_of_first(first, split);
      for (int64_t number = 2; number <= split.count; ++number) {
        const fs::path path = path_of_part(first.parent_path(), name, number);
        const Split other = split_of(add(path).metadata);
        if (other.number != number || other.count != split.count) {
          throw_bad_input(fmt::format("{}: says that it is part {} of {}", path.string(),
                                      other.number, other.count),
                          "the parts are not of one model: download them again");
        }
      }
    }
    model_.metadata = std::move(header.metadata);
    check_tensors();
    return std::move(model_);
  }

 private:
  GgufHeader add(const fs::path& path) {
    model_.parts.push_back({path, open_weights_file(path, give_the_file)});
    GgufHeader header = read_gguf_header(model_.parts.back().descriptor.get(), path.string());
    check_not_joined(header, split_of(header.metadata), path);
    const int part = static_cast<int>(model_.parts.size()) - 1;
    for (GgufTensor& tensor : header.tensors) model_.tensors.push_back({std::move(tensor), part});
    return header;
  }

  void check_tensors() {
    auto& tensors = model_.tensors;
    std::sort(tensors.begin(), tensors.end(),
              [](const auto& a, const auto& b) { return a.stored.name < b.stored.name; });
    const auto twice = std::adjacent_find(
        tensors.begin(), tensors.end(),
        [](const auto& a, const auto& b) { return a.stored.name == b.stored.name; });
    if (twice != tensors.end()) {
      throw_bad_input(fmt::format("{} is in two parts of {}", twice->stored.name,
                                  model_.parts[0].path.string()),
                      "the parts are not of one model: download them again", twice->stored.name);
    }
    constexpr auto key = "split.tensors.count";
    const auto stated = model_.metadata.optional_integer(key, 0, INT32_MAX);
    if (stated && *stated != static_cast<int64_t>(tensors.size())) {
      model_.metadata.fail(
          key, fmt::format("{}, but the parts hold {} tensors", *stated, tensors.size()));
    }
  }

  GgufModel model_;
};

// Of a folder; first parts stand for their sets, and projectors of images are no models.
std::vector<fs::path> models_in(const fs::path& folder) {
  std::vector<fs::path> models;
  std::vector<fs::path> later_parts;
  std::error_code status;
  for (const auto& entry : fs::directory_iterator(folder, status)) {
    const fs::path& path = entry.path();
    if (path.extension() != ending) continue;
    if (path.filename().string().starts_with("mmproj")) continue;
    const auto part = part_name(path);
    (part && part->number > 1 ? later_parts : models).push_back(path);
  }
  // A set without its first part: opening the second says so.
  if (models.empty()) models = std::move(later_parts);
  std::sort(models.begin(), models.end());
  return models;
}

}  // namespace

const GgufModel::Tensor* GgufModel::find(std::string_view name) const {
  const auto at = std::lower_bound(
      tensors.begin(), tensors.end(), name,
      [](const Tensor& tensor, std::string_view wanted) { return tensor.stored.name < wanted; });
  return at != tensors.end() && at->stored.name == name ? &*at : nullptr;
}

std::optional<fs::path> gguf_of(const fs::path& model) {
  std::error_code status;
  if (!fs::is_directory(model, status)) {
    if (model.extension() == ending) return model;
    return std::nullopt;
  }
  if (is_there(model / "config.json")) return std::nullopt;
  const std::vector<fs::path> models = models_in(model);
  if (models.empty()) return std::nullopt;
  const bool one = models.size() == 1 || part_name(models[0]).value_or(PartName{}).number > 1;
  if (!one) {
    throw_bad_input(fmt::format("{}: {} GGUF files", model.string(), models.size()),
                    fmt::format("give one of them: {}, {}{}", models[0].filename().string(),
                                models[1].filename().string(), models.size() > 2 ? ", …" : ""));
  }
  return models[0];
}

GgufModel open_gguf(const fs::path& file) {
  return SetOpener().open(file);
}

GgufMetadata read_gguf_metadata(const fs::path& file) {
  const Descriptor descriptor = open_weights_file(file, give_the_file);
  return read_gguf_header(descriptor.get(), file.string()).metadata;
}

}  // namespace dure
