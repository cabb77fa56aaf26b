// A checkpoint on disk, read only where asked: safetensors files, alone or with an index (format:
// https://github.com/huggingface/safetensors, "Format"), or a GGUF file or split set
// (gguf/header.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "model/inventory.h"

namespace dure {

struct ScaledCodes;

struct StoredTensor {
  std::string name;
  DType dtype = DType::bf16;               // of blocks f32, which holds their numbers exactly
  std::optional<BlockFormat> blocks = {};  // along the last dimension
  std::vector<int64_t> shape;
  int file = 0;        // index into CheckpointReader::files
  int64_t offset = 0;  // bytes from the start of that file
  int64_t bytes = 0;
  // A matrix of codes and scales, which lies in several tensors (model/quantized/scaled_codes.h)
  // and has no place of its own: read_rectangle makes its numbers, in f32.
  std::shared_ptr<const ScaledCodes> codes = {};
  int code_bits = 0;  // of each

  // Of so many numbers, as stored; of codes without their scales.
  int64_t bytes_of_elements(int64_t count) const;
};

class CheckpointReader {
 public:
  // Reads headers only. Throws bad_input naming the file or tensor for: nothing to read, a missing
  // or truncated file, a header that is too long or not valid, offsets that overlap, leave holes or
  // leave the file, sizes that do not match the shape, an index that names a file outside the
  // folder or disagrees with the files, tensors of a type that the engine cannot read.
  // `model`: a folder, or a GGUF file.
  static std::unique_ptr<CheckpointReader> open(const std::filesystem::path& model);

  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  const StoredTensor* find(const std::string& name) const;  // null if absent
  const std::vector<std::filesystem::path>& files() const { return files_; }

  // Copies bytes [offset, offset + bytes) of the tensor's data. Throws `failed` naming the file
  // when the disk does not give them. Thread-safe; reads exactly these bytes.
  void read(const StoredTensor& tensor, int64_t offset, int64_t bytes, void* to) const;

 private:
  CheckpointReader() = default;
  void open_safetensors(const std::filesystem::path& folder);
  void open_gguf_model(const std::filesystem::path& file);
  std::vector<std::filesystem::path> files_;
  std::vector<Descriptor> descriptors_;
  std::vector<StoredTensor> tensors_;  // sorted by name
};

// The inventory with each weight's stored type, after checking that the checkpoint holds exactly
// the model: every weight present with the right shape, nothing else (tensors that are known to be
// harmless, such as rotary_emb.inv_freq buffers, excepted). Throws bad_input naming the tensor.
std::vector<Weight> bind_inventory(const ModelSpec& spec, const CheckpointReader& checkpoint);

// Whether a tensor belongs to what the checkpoint holds beside the model that is run: the towers of
// other modalities, and layers that only draft tokens.
bool is_of_other_part(const ModelSpec& spec, std::string_view tensor_name);

}  // namespace dure
