// See growth_note.h.
#include "cli/growth_note.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "base/units.h"
#include "model/quantized/scaled_codes.h"

namespace dure {
namespace {

// Of so many numbers of a quantized tensor: codes of matrices with their share of scales and of
// what else belongs to them.
int64_t bytes_in_file(const StoredTensor& tensor, int64_t elements) {
  if (!tensor.codes) return tensor.bytes_of_elements(elements);
  const ScaledCodes& all = *tensor.codes;
  const double share = static_cast<double>(elements) /
                       (static_cast<double>(all.outputs) * static_cast<double>(all.inputs));
  return std::llround(static_cast<double>(stored_bytes(all)) * share);
}

}  // namespace

std::string growth_note(const std::vector<Weight>& weights, const CheckpointReader& checkpoint,
                        const ModelSpec& spec, Arithmetic arithmetic) {
  std::set<const Weight*> stored;  // quantized, and kept in other numbers
  int64_t resident = 0;
  for (const Resident& each :
       resident_weights(weights, spec, {}, share_of(spec, {}, 0), arithmetic)) {
    if (each.blocks || each.shape.in_blocks()) continue;  // as in the file
    int64_t outputs = 0;
    int64_t quantized = 0;  // of these: neighbours may be stored otherwise
    for (const ResidentPiece& piece : each.pieces) {
      outputs += piece.slice.outputs.size();
      const StoredTensor& tensor = *checkpoint.find(piece.weight->name);
      if (!tensor.blocks && !tensor.codes) continue;
      quantized += piece.slice.outputs.size();
      stored.insert(piece.weight);
    }
    if (quantized > 0) resident += each.payload() * quantized / outputs;
  }
  int64_t bytes = 0;  // in the file
  for (const Weight* weight : stored) {
    bytes += bytes_in_file(*checkpoint.find(weight->name), weight->elements());
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
