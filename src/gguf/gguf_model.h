// A model in GGUF: one file, or all parts of a split one, with the list of all their tensors.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "gguf/header.h"

namespace dure {

struct GgufPart {
  std::filesystem::path path;
  Descriptor descriptor;
};

struct GgufModel {
  std::vector<GgufPart> parts;
  GgufMetadata metadata;  // of the first part
  struct Tensor {
    GgufTensor stored;
    int part = 0;
  };
  std::vector<Tensor> tensors;  // in order of name

  const Tensor* find(std::string_view name) const;  // null if absent
  bool has(std::string_view name) const { return find(name) != nullptr; }
};

// The file that a path given as a model means, if it means GGUF: itself, or that of a folder which
// has no config.json and holds one such model. Throws bad_input if it holds several.
std::optional<std::filesystem::path> gguf_of(const std::filesystem::path& model);

// Opens the file, and where it is the first part of a split one (NAME-00001-of-0000N.gguf) the
// others beside it, and reads their headers. Throws bad_input naming file, key or tensor: for what
// read_gguf_header refuses, a missing part or another than the first, parts of different models,
// and parts that were joined into one file.
GgufModel open_gguf(const std::filesystem::path& file);
// The named values alone.
GgufMetadata read_gguf_metadata(const std::filesystem::path& file);

}  // namespace dure
