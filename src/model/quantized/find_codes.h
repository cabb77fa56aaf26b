// Which tensors of a safetensors checkpoint are together one quantized matrix.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "model/checkpoint.h"
#include "model/safetensors.h"

namespace dure {

struct RawTensor {
  SafetensorsEntry entry;
  int file = 0;
};

// What config.json's quantization_config tells that the tensors do not.
struct QuantizationFacts {
  std::string method;                       // quant_method; empty: nothing is said
  bool zeros_as_stored = false;             // GPTQ: zero points are not stored minus one
  bool symmetric = false;                   // GPTQ: the zero point is 8, whatever is stored
  int64_t bits = 4;                         // GPTQ, AWQ
  std::vector<int64_t> block = {128, 128};  // outputs and inputs that share a scale
};

// Of a folder; nothing where there is no config.json. Throws bad_input naming the field.
QuantizationFacts read_quantization_facts(const std::filesystem::path& folder);

// Takes out of `found`, which is sorted by name, all tensors that are parts of quantized matrices,
// or belong to their activations and caches, and returns the matrices under the names that they
// have unquantized. Throws bad_input naming the tensor whose parts are missing or do not fit.
std::vector<StoredTensor> take_quantized(std::vector<RawTensor>& found,
                                         const QuantizationFacts& facts, const std::string& what);

}  // namespace dure
