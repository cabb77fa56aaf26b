// See checkpoint.h: which files a folder's weights are in, and one table of all their tensors.
#include "model/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "base/read_exactly.h"
#include "base/weights_file.h"
#include "gguf/gguf_model.h"
#include "model/harmless_tensors.h"
#include "model/quantized/find_codes.h"
#include "model/safetensors.h"

namespace dure {
namespace {

namespace fs = std::filesystem;

constexpr auto single_name = "model.safetensors";
constexpr auto index_name = "model.safetensors.index.json";

// tensor -> file, of an index
using WeightMap = std::map<std::string, std::string>;

WeightMap read_index(const fs::path& path) {
  const Json document = read_json_file(path, size_t{64} << 20);
  const auto map = document.is_object() ? document.find("weight_map") : document.end();
  if (!document.is_object() || map == document.end() || !map->is_object() || map->empty()) {
    throw_bad_input(fmt::format("{}: no weight_map that names files", path.string()),
                    "the index is damaged: download it again", "weight_map");
  }
  WeightMap weights;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string()) {
      throw_bad_input(fmt::format("{}: weight_map puts {:.120} into {:.80}, which is not a name",
                                  path.string(), tensor, file.dump()),
                      "the index is damaged: download it again", "weight_map");
    }
    const std::string name = file.get<std::string>();
    // Only plain names: an index must not reach out of its folder.
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
        name.find('\\') != std::string::npos || name.find('\0') != std::string::npos) {
      throw_bad_input(
          fmt::format("{}: weight_map puts {:.120} into \"{:.80}\", which is not a file "
                      "name in this folder",
                      path.string(), tensor, name),
          "an index may only name files beside it", "weight_map");
    }
    weights[tensor] = name;
  }
  return weights;
}

std::vector<std::string> files_of(const WeightMap& index) {
  if (index.empty()) return {single_name};
  std::set<std::string> names;
  for (const auto& [tensor, file] : index) names.insert(file);
  return {names.begin(), names.end()};
}

bool exists_here(const fs::path& path) {
  std::error_code status;
  return fs::symlink_status(path, status).type() != fs::file_type::not_found;
}

WeightMap index_of(const fs::path& folder) {
  std::error_code status;
  if (!fs::is_directory(folder, status)) {
    throw_bad_input(fmt::format("{}: not a folder with weights", folder.string()),
                    "give the folder that holds config.json and *.safetensors");
  }
  if (exists_here(folder / index_name)) return read_index(folder / index_name);
  if (exists_here(folder / single_name)) return {};
  throw_bad_input(
      fmt::format("{}: no weights: looked for {} and {}", folder.string(), single_name, index_name),
      "incomplete download? Dure reads safetensors and GGUF, not .bin or .pth files");
}

using Found = RawTensor;

// Both ways: what the index promises is there, and what is there the index knows.
void check_against_index(const WeightMap& index, const std::vector<Found>& found,
                         const std::vector<fs::path>& files, const fs::path& folder) {
  const std::string where = (folder / index_name).string();
  std::set<std::string> seen;
  for (const Found& each : found) {
    const std::string& name = each.entry.name;
    const std::string file = files[static_cast<size_t>(each.file)].filename().string();
    const auto promised = index.find(name);
    if (promised == index.end()) {
      throw_bad_input(fmt::format("{}: {:.120} is in {} but not in the index", where, name, file),
                      "index and files are not of the same checkpoint: download both again");
    }
    if (promised->second == file) seen.insert(name);
  }
  for (const auto& [tensor, file] : index) {
    if (!seen.contains(tensor)) {
      throw_bad_input(fmt::format("{}: {:.120} should be in {}, but is not", where, tensor, file),
                      "index and files are not of the same checkpoint: download both again");
    }
  }
}

void check_unique(const std::vector<Found>& sorted, const std::vector<fs::path>& files) {
  const auto twice = std::adjacent_find(
      sorted.begin(), sorted.end(),
      [](const Found& a, const Found& b) { return a.entry.name == b.entry.name; });
  if (twice == sorted.end()) return;
  throw_bad_input(fmt::format("{:.120} is in two files: {} and {}", twice->entry.name,
                              files[static_cast<size_t>(twice->file)].string(),
                              files[static_cast<size_t>(std::next(twice)->file)].string()),
                  "files of two checkpoints lie in one folder: download again");
}

StoredTensor readable(Found found, const fs::path& file) {
  const std::optional<DType> dtype = dtype_from_safetensors(found.entry.dtype);
  if (!dtype) {
    throw_bad_input(fmt::format("{}: {:.120} is of type {}, which the engine does not read",
                                file.string(), found.entry.name, found.entry.dtype),
                    "weights must be BF16, F16 or F32, or quantized in a form that is known "
                    "(docs/quantized.md); `dure fit` plans others");
  }
  return {.name = std::move(found.entry.name),
          .dtype = *dtype,
          .shape = std::move(found.entry.shape),
          .file = found.file,
          .offset = found.entry.offset,
          .bytes = found.entry.bytes};
}

}  // namespace

std::unique_ptr<CheckpointReader> CheckpointReader::open(const fs::path& model) {
  std::unique_ptr<CheckpointReader> reader(new CheckpointReader);
  if (const std::optional<fs::path> file = gguf_of(model)) {
    reader->open_gguf_model(*file);
  } else {
    reader->open_safetensors(model);
  }
  return reader;
}

void CheckpointReader::open_gguf_model(const fs::path& file) {
  GgufModel model = open_gguf(file);
  for (GgufPart& part : model.parts) {
    files_.push_back(std::move(part.path));
    descriptors_.push_back(std::move(part.descriptor));
  }
  for (auto& [stored, part] : model.tensors) {
    StoredTensor tensor{.name = std::move(stored.name),
                        .dtype = DType::f32,
                        .shape = std::move(stored.shape),
                        .file = part,
                        .offset = stored.offset,
                        .bytes = stored.bytes};
    if (const auto* dtype = std::get_if<DType>(&stored.type)) tensor.dtype = *dtype;
    if (const auto* blocks = std::get_if<BlockFormat>(&stored.type)) tensor.blocks = *blocks;
    tensors_.push_back(std::move(tensor));
  }
}

void CheckpointReader::open_safetensors(const fs::path& folder) {
  const WeightMap index = index_of(folder);
  std::vector<Found> found;
  for (const std::string& name : files_of(index)) {
    const fs::path path = folder / name;
    descriptors_.push_back(
        open_weights_file(path, "put the weight files themselves into the model folder"));
    files_.push_back(path);
    const int file = static_cast<int>(files_.size()) - 1;
    for (SafetensorsEntry& entry :
         read_safetensors_header(descriptors_.back().get(), path.string())) {
      found.push_back({std::move(entry), file});
    }
  }
  std::sort(found.begin(), found.end(),
            [](const Found& a, const Found& b) { return a.entry.name < b.entry.name; });
  check_unique(found, files_);
  if (!index.empty()) check_against_index(index, found, files_, folder);
  tensors_ = take_quantized(found, read_quantization_facts(folder), folder.string());
  for (Found& each : found) {
    const bool unread = !dtype_from_safetensors(each.entry.dtype) && is_harmless(each.entry.name);
    if (unread) continue;
    const fs::path& file = files_[static_cast<size_t>(each.file)];
    tensors_.push_back(readable(std::move(each), file));
  }
  std::sort(tensors_.begin(), tensors_.end(),
            [](const StoredTensor& a, const StoredTensor& b) { return a.name < b.name; });
}

int64_t StoredTensor::bytes_of_elements(int64_t count) const {
  if (code_bits != 0) return (count * code_bits + 7) / 8;
  if (!blocks) return count * bytes_of(dtype);
  const BlockSize block = size_of(*blocks);
  return (count * block.bytes + block.values - 1) / block.values;
}

const StoredTensor* CheckpointReader::find(const std::string& name) const {
  const auto at = std::lower_bound(
      tensors_.begin(), tensors_.end(), name,
      [](const StoredTensor& tensor, const std::string& wanted) { return tensor.name < wanted; });
  return at != tensors_.end() && at->name == name ? &*at : nullptr;
}

void CheckpointReader::read(const StoredTensor& tensor, int64_t offset, int64_t bytes,
                            void* to) const {
  DURE_CHECK(offset >= 0 && bytes >= 0 && offset + bytes <= tensor.bytes);
  const auto file = static_cast<size_t>(tensor.file);
  read_exactly(descriptors_[file].get(), tensor.offset + offset, bytes, to, files_[file].string());
}

}  // namespace dure
