// See growth_note.h.
#include "cli/growth_note.h"

#include <fmt/format.h>

#include "base/units.h"

namespace dure {

std::string growth_note(const std::vector<Weight>& weights, const CheckpointReader& checkpoint,
                        const ModelSpec& spec, Compute compute) {
  int64_t stored = 0;
  int64_t resident = 0;
  const DType kept = resident_dtype(DType::f32, compute);
  for (const Weight& weight : weights) {
    // Rows of the embedding stay in the file's blocks; the output that shares them does not.
    const bool is_kept = weight.part == Part::embedding && !spec.tied_embeddings;
    const StoredTensor& tensor = *checkpoint.find(weight.name);
    if ((!tensor.blocks && !tensor.codes) || is_kept) continue;
    stored += tensor.bytes_of_elements(weight.elements());
    resident += weight.elements() * bytes_of(kept);
  }
  if (stored == 0) return "";
  return fmt::format("note: quantized matrices are kept as {}: {} in memory for {} in the file",
                     to_string(kept), format_bytes(resident), format_bytes(stored));
}

}  // namespace dure
