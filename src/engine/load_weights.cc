// See load_weights.h.
#include "engine/load_weights.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "engine/read_slice.h"
#include "engine/weight_target.h"
#include "tensor/float_bits.h"

namespace dure {
namespace {

float load_as_float(const std::byte* source, int64_t index, DType type) {
  if (type == DType::f32) return reinterpret_cast<const float*>(source)[index];
  const uint16_t bits = reinterpret_cast<const uint16_t*>(source)[index];
  return type == DType::bf16 ? float_from_bf16(bits) : float_from_f16(bits);
}

// Row `row` of `inputs` elements, as it is or, turned, as column `row` of `outputs`.
void store_row(const std::byte* source, int64_t inputs, const Weight& weight, Form form,
               int64_t outputs, int64_t row, float* to) {
  const float more = weight.plus_one ? 1.0f : 0.0f;
  for (int64_t i = 0; i < inputs; ++i) {
    const int64_t at = form == Form::turned ? i * outputs + row : row * inputs + i;
    to[at] = load_as_float(source, i, weight.dtype) + more;
  }
}

int64_t outputs_of(const Resident& resident) {
  int64_t sum = 0;
  for (const ResidentPiece& piece : resident.pieces) sum += piece.slice.outputs.size();
  return sum;
}

void load_one(const CheckpointReader& checkpoint, const Resident& resident, std::byte* memory,
              ReadBuffers& buffers, std::atomic<int64_t>* bytes_read) {
  std::optional<PackedMatrix> matrix;
  if (resident.form == Form::packed) matrix.emplace(resident.shape, memory);
  const int64_t outputs = outputs_of(resident);
  int64_t done = 0;  // outputs of the pieces before
  for (size_t i = 0; i < resident.pieces.size(); ++i) {
    const ResidentPiece& piece = resident.pieces[i];
    if (matrix && resident.shape.in_blocks()) {
      const BlockRows& rows = resident.shape.block_rows[i];
      read_stored_rows(checkpoint, piece, rows, matrix->blocks_of(i), bytes_read);
      continue;
    }
    if (resident.blocks) {
      const BlockRows rows = {outputs, *resident.blocks};
      read_stored_rows(checkpoint, piece, rows, memory, bytes_read);
      continue;
    }
    const DType type = piece.weight->dtype;
    const int64_t row_bytes = piece.slice.inputs.size() * bytes_of(type);
    read_slice(
        checkpoint, piece, buffers,
        [&](int64_t first, int64_t rows, const std::byte* data) {
          if (matrix) {
            matrix->pack_rows(done + first, rows, data, row_bytes, type);
          } else if (resident.form == Form::table) {
            std::copy_n(data, rows * row_bytes, memory + (done + first) * row_bytes);
          } else {
            for (int64_t i = 0; i < rows; ++i) {
              store_row(data + i * row_bytes, piece.slice.inputs.size(), *piece.weight,
                        resident.form, outputs, done + first + i, reinterpret_cast<float*>(memory));
            }
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
    if (resident.same_as >= 0) continue;
    for (const ResidentPiece& piece : resident.pieces) {
      sum +=
          piece.slice.outputs.size() * piece.weight->bytes_of_elements(piece.slice.inputs.size());
    }
  }
  return sum;
}

RankWeights weights_in(std::byte* memory, const WeightPlan& plan,
                       const std::vector<Resident>& residents, const ModelSpec& spec,
                       const Layout& layout, const RankShare& share) {
  RankWeights weights;
  weights.layers.resize(static_cast<size_t>(share.layers.size()));
  for (size_t i = 0; i < residents.size(); ++i) {
    const Resident& resident = residents[i];
    std::byte* const at = memory + plan.offsets[i];
    const WeightTarget target = target_of(weights, resident, spec, layout, share);
    if (target.matrix != nullptr) *target.matrix = PackedMatrix(resident.shape, at);
    if (target.table != nullptr) *target.table = {at, resident.dtype, resident.blocks};
    if (target.vector != nullptr) {
      *target.vector = {reinterpret_cast<const float*>(at),
                        static_cast<size_t>(resident.elements())};
    }
  }
  return weights;
}

void load_weights(const CheckpointReader& checkpoint, const std::vector<Resident>& residents,
                  const WeightPlan& plan, int threads, Segment& segment,
                  std::atomic<int64_t>* bytes_read) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    ReadBuffers buffers;
    try {
      for (size_t i = next++; i < residents.size(); i = next++) {
        if (residents[i].same_as >= 0) continue;
        segment.back(plan.offsets[i], residents[i].bytes());
        load_one(checkpoint, residents[i], segment.data() + plan.offsets[i], buffers, bytes_read);
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
}

}  // namespace dure
