// Reads a rectangle of a weight from the tensor that holds it, whatever its strides there.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "cost/resident.h"
#include "model/checkpoint.h"

namespace dure {

// Buffers kept from slice to slice.
struct ReadBuffers {
  std::vector<std::byte> rows;
  std::vector<std::byte> strip;
  std::vector<std::byte> blocks;  // as stored
  std::vector<float> values;      // of them
};

// Copies the blocks that hold a slice (Weight::rows_of_blocks()), row after row, to `to`; of codes
// their scales too, as `rows` keeps them.
void read_stored_rows(const CheckpointReader& checkpoint, const ResidentPiece& piece,
                      const BlockRows& rows, std::byte* to, std::atomic<int64_t>* bytes_read);

// Hands the slice to `use(first row of the slice, rows, data)` in blocks of whole rows, each row
// its inputs in order in the weight's type, which is f32 where the file holds blocks. Adds the
// bytes of the slice to *bytes_read as it goes.
void read_slice(const CheckpointReader& checkpoint, const ResidentPiece& piece,
                ReadBuffers& buffers,
                const std::function<void(int64_t, int64_t, const std::byte*)>& use,
                std::atomic<int64_t>* bytes_read);

}  // namespace dure
