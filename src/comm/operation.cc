// See operation.h.
#include "comm/operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace dure {
std::string_view to_string(OpKind kind) {
  switch (kind) {
    case OpKind::all_reduce:
      return "all-reduce";
    case OpKind::all_gather:
      return "all-gather";
    case OpKind::all_to_all:
      return "all-to-all";
    case OpKind::stage_transfer:
      return "stage transfer";
  }
  return "unknown operation";
}

std::string_view label_of(OpKind kind) {
  switch (kind) {
    case OpKind::all_reduce:
      return "all_reduce";
    case OpKind::all_gather:
      return "all_gather";
    case OpKind::all_to_all:
      return "all_to_all";
    case OpKind::stage_transfer:
      return "stage_transfer";
  }
  return "unknown";
}

void OpHeader::name(std::string_view text) {
  std::memset(what, 0, sizeof what);
  std::memcpy(what, text.data(), std::min(text.size(), sizeof what));
}

std::string describe(const OpHeader& header) {
  if (header.magic != OpHeader::right_magic) return "no place that its message tells";
  const std::string_view what(header.what, strnlen(header.what, sizeof header.what));
  const std::string layer = header.layer < 0 ? "" : fmt::format(", layer {}", header.layer);
  return fmt::format("step {}, operation {} ({}{}{}{}, {} bytes)", header.step, header.number,
                     to_string(header.kind), what.empty() ? "" : " of ", what, layer, header.bytes);
}

void check_same_operation(int rank, const OpHeader& mine, int peer, const OpHeader& theirs) {
  OpHeader renamed = theirs;
  std::memcpy(renamed.what, mine.what, sizeof mine.what);
  if (renamed == mine) return;
  throw Error(ErrorCode::failed,
              fmt::format("ranks {} and {} are not at the same operation: rank {} is at {}, rank "
                          "{} at {}",
                          rank, peer, rank, describe(mine), peer, describe(theirs)));
}

}  // namespace dure
