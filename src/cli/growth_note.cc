// See growth_note.h.
#include "cli/growth_note.h"

#include <fmt/format.h>

#include <set>

#include "base/units.h"

namespace dure {

std::string growth_note(const std::vector<Weight>& weights, const CheckpointReader& checkpoint,
                        const ModelSpec& spec, Arithmetic arithmetic) {
  std::set<const Weight*> stored;  // quantized, and kept in other numbers
  int64_t resident = 0;
  for (const Resident& each :
       resident_weights(weights, spec, {}, share_of(spec, {}, 0), arithmetic)) {
    if (each.blocks || each.shape.in_blocks()) continue;  // as in the file
    bool counts = false;
    for (const ResidentPiece& piece : each.pieces) {
      const StoredTensor& tensor = *checkpoint.find(piece.weight->name);
      if (!tensor.blocks && !tensor.codes) continue;
      stored.insert(piece.weight);
      counts = true;
    }
    if (counts) resident += each.payload();
  }
  int64_t bytes = 0;  // in the file
  for (const Weight* weight : stored) {
    bytes += checkpoint.find(weight->name)->bytes_of_elements(weight->elements());
  }
  if (resident <= bytes) return "";
  const std::string how =
      arithmetic.quantize == CodeFormat::none
          ? fmt::format("kept as {}", to_string(resident_dtype(DType::f32, arithmetic.compute)))
          : fmt::format("made {}", to_string(arithmetic.quantize));
  return fmt::format("note: quantized matrices are {}: {} in memory for {} in the file", how,
                     format_bytes(resident), format_bytes(bytes));
}

}  // namespace dure
