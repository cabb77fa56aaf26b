// See load_weights.h.
#include "engine/load_weights.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "kernels/float_bits.h"

namespace dure {
namespace {

constexpr int64_t staging_bytes = int64_t{2} << 20;

// Where a resident goes: exactly one of the three.
struct Target {
  PackedMatrix* matrix = nullptr;
  Vector* vector = nullptr;
  EmbeddingTable* table = nullptr;
};

Target target_of(RankWeights& weights, const Resident& resident, const ModelSpec& spec,
                 const Layout& layout, const RankShare& share) {
  if (resident.slot == Slot::embedding) return {.table = &weights.embedding};
  if (resident.slot == Slot::head) return {.matrix = &weights.head};
  if (resident.slot == Slot::final_norm) return {.vector = &weights.final_norm};
  LayerWeights& layer = weights.layers[static_cast<size_t>(resident.layer - share.layers.begin)];
  size_t expert = 0;
  if (resident.expert >= 0) {
    const auto& moe = std::get<MoeFfn>(spec.layers[static_cast<size_t>(resident.layer)].ffn);
    const Range held = experts_of(moe, layout, share.place.ep);
    expert = static_cast<size_t>(resident.expert - held.begin);
    layer.moe.gate_up.resize(static_cast<size_t>(held.size()));
    layer.moe.down.resize(static_cast<size_t>(held.size()));
  }
  switch (resident.slot) {
    case Slot::attention_norm:
      return {.vector = &layer.attention_norm};
    case Slot::ffn_norm:
      return {.vector = &layer.ffn_norm};
    case Slot::qkv:
      return {.matrix = &layer.attention.qkv};
    case Slot::qkv_bias:
      return {.vector = &layer.attention.qkv_bias};
    case Slot::o:
      return {.matrix = &layer.attention.o};
    case Slot::o_bias:
      return {.vector = &layer.attention.o_bias};
    case Slot::q_norm:
      return {.vector = &layer.attention.q_norm};
    case Slot::k_norm:
      return {.vector = &layer.attention.k_norm};
    case Slot::gate_up:
      return {.matrix = &layer.mlp.gate_up};
    case Slot::gate_bias:
      return {.vector = &layer.mlp.gate_bias};
    case Slot::up_bias:
      return {.vector = &layer.mlp.up_bias};
    case Slot::down:
      return {.matrix = &layer.mlp.down};
    case Slot::down_bias:
      return {.vector = &layer.mlp.down_bias};
    case Slot::router:
      return {.matrix = &layer.moe.router};
    case Slot::expert_gate_up:
      return {.matrix = &layer.moe.gate_up[expert]};
    case Slot::expert_down:
      return {.matrix = &layer.moe.down[expert]};
    case Slot::shared_gate_up:
      return {.matrix = &layer.moe.shared.gate_up};
    case Slot::shared_down:
      return {.matrix = &layer.moe.shared.down};
    case Slot::shared_router:
      return {.matrix = &layer.moe.shared_router};
    case Slot::embedding:
    case Slot::head:
    case Slot::final_norm:
      break;
  }
  DURE_CHECK(false);
  return {};
}

void append_as_floats(const std::byte* source, int64_t count, DType type, Vector* to) {
  for (int64_t i = 0; i < count; ++i) {
    if (type == DType::f32) {
      to->push_back(reinterpret_cast<const float*>(source)[i]);
    } else {
      const uint16_t bits = reinterpret_cast<const uint16_t*>(source)[i];
      to->push_back(type == DType::bf16 ? float_from_bf16(bits) : float_from_f16(bits));
    }
  }
}

// Reads a slice in blocks of whole rows and hands each to `use(first row of the slice, rows,
// data)`. A slice of all inputs is one run of the file; a slice of some is one short read a row.
void read_slice(const CheckpointReader& checkpoint, const ResidentPiece& piece,
                std::vector<std::byte>& staging,
                const std::function<void(int64_t, int64_t, const std::byte*)>& use,
                std::atomic<int64_t>* bytes_read) {
  const StoredTensor* tensor = checkpoint.find(piece.weight->name);
  DURE_CHECK(tensor != nullptr);  // bind_inventory has checked
  const int64_t element = bytes_of(tensor->dtype);
  const int64_t all_inputs = tensor->shape.size() > 1 ? tensor->shape[1] : 1;
  const int64_t row_bytes = piece.slice.inputs.size() * element;
  if (row_bytes == 0) return;
  const int64_t rows_at_once = std::max<int64_t>(1, staging_bytes / row_bytes);
  staging.resize(static_cast<size_t>(
      std::min(rows_at_once, std::max<int64_t>(piece.slice.outputs.size(), 1)) * row_bytes));
  for (int64_t first = 0; first < piece.slice.outputs.size(); first += rows_at_once) {
    const int64_t rows = std::min(rows_at_once, piece.slice.outputs.size() - first);
    const int64_t row = piece.slice.outputs.begin + first;
    if (piece.slice.inputs.size() == all_inputs) {
      checkpoint.read(*tensor, row * row_bytes, rows * row_bytes, staging.data());
    } else {
      for (int64_t i = 0; i < rows; ++i) {
        checkpoint.read(*tensor, ((row + i) * all_inputs + piece.slice.inputs.begin) * element,
                        row_bytes, staging.data() + i * row_bytes);
      }
    }
    use(first, rows, staging.data());
    *bytes_read += rows * row_bytes;
  }
}

void load_one(const CheckpointReader& checkpoint, const Resident& resident, const Target& target,
              std::vector<std::byte>& staging, std::atomic<int64_t>* bytes_read) {
  if (target.matrix != nullptr) *target.matrix = PackedMatrix(resident.shape);
  if (target.table != nullptr) {
    target.table->dtype = resident.dtype;
    target.table->rows = AlignedBuffer(resident.bytes());
  }
  if (target.vector != nullptr) target.vector->reserve(static_cast<size_t>(resident.elements()));
  int64_t done = 0;  // outputs of the pieces before
  for (const ResidentPiece& piece : resident.pieces) {
    const DType type = piece.weight->dtype;
    const int64_t inputs = piece.slice.inputs.size();
    read_slice(
        checkpoint, piece, staging,
        [&](int64_t first, int64_t rows, const std::byte* data) {
          if (target.matrix != nullptr) {
            target.matrix->pack_rows(done + first, rows, data, inputs * bytes_of(type), type);
          } else if (target.vector != nullptr) {
            append_as_floats(data, rows * inputs, type, target.vector);
          } else {
            const int64_t row_bytes = inputs * bytes_of(type);
            std::copy_n(data, rows * row_bytes,
                        target.table->rows.data() + (done + first) * row_bytes);
          }
        },
        bytes_read);
    done += piece.slice.outputs.size();
  }
}

}  // namespace

int64_t bytes_to_read(const std::vector<Resident>& residents) {
  int64_t sum = 0;
  for (const Resident& resident : residents) {
    for (const ResidentPiece& piece : resident.pieces) {
      sum += piece.slice.elements() * bytes_of(piece.weight->dtype);
    }
  }
  return sum;
}

RankWeights load_weights(const CheckpointReader& checkpoint, const std::vector<Resident>& residents,
                         const ModelSpec& spec, const Layout& layout, const RankShare& share,
                         int threads, std::atomic<int64_t>* bytes_read) {
  RankWeights weights;
  weights.layers.resize(static_cast<size_t>(share.layers.size()));
  std::vector<Target> targets;  // before the threads start: target_of grows vectors
  targets.reserve(residents.size());
  for (const Resident& resident : residents) {
    target_of(weights, resident, spec, layout, share);
  }
  for (const Resident& resident : residents) {
    targets.push_back(target_of(weights, resident, spec, layout, share));
  }

  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    std::vector<std::byte> staging;
    try {
      for (size_t i = next++; i < residents.size(); i = next++) {
        load_one(checkpoint, residents[i], targets[i], staging, bytes_read);
      }
    } catch (...) {
      const std::scoped_lock lock(mutex);
      failure = std::current_exception();
      next = residents.size();
    }
  };
  std::vector<std::thread> helpers;
  for (int i = 1; i < threads; ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
  return weights;
}

}  // namespace dure
