// What every message between ranks says about itself, so that two ranks that have lost step with
// each other notice at the first message and can say where each of them is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dure {

enum class OpKind : uint8_t { all_reduce = 1, all_gather = 2, all_to_all = 3, stage_transfer = 4 };
inline constexpr size_t op_kinds = 4;
inline constexpr size_t index_of(OpKind kind) {
  return static_cast<size_t>(kind) - 1;
}

// 64 bytes in front of every message's data.
struct OpHeader {
  static constexpr uint32_t right_magic = 0x31525544;  // "DUR1"

  uint32_t magic = right_magic;
  OpKind kind = OpKind::all_reduce;
  uint8_t round = 0;   // within the operation
  int16_t layer = -1;  // of the model; -1: before or behind them
  uint64_t step = 0;
  uint64_t number = 0;  // of the operation within the step, per communicator or pair of ranks
  int64_t bytes = 0;    // of data
  char what[32] = {};   // the caller's name for it, cut to fit

  void name(std::string_view text);
  bool operator==(const OpHeader&) const = default;
};
static_assert(sizeof(OpHeader) == 64);

std::string_view to_string(OpKind kind);  // "all-reduce"
std::string_view label_of(OpKind kind);   // "all_reduce"

// "step 7, operation 12 (all-reduce of attention output, layer 3, 4096 bytes)"
std::string describe(const OpHeader& header);

// Throws failed naming both ranks and where each of them is, unless the headers are the same in all
// but the name.
void check_same_operation(int rank, const OpHeader& mine, int peer, const OpHeader& theirs);

}  // namespace dure
