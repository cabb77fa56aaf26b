// What a rank's weights in memory were made from, and how, as 128 bits: memory that was kept under
// the same identity holds what loading again would give.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "cost/resident.h"
#include "tensor/dtype.h"

namespace dure {

// Counts the ways in which matrices have been packed: up with every change of packed_matrix.cc or
// weight_plan.cc that gives other bytes.
inline constexpr int packing_version = 3;

struct WeightOrigin {
  std::filesystem::path model;               // folder
  std::vector<std::filesystem::path> files;  // of weights
  Layout layout;
  int rank = 0;
  Compute compute = Compute::bf16;
  std::string_view isa;
};

// Of the files (config.json too) it takes path, device, inode, size and time of change; not what is
// in them. Throws failed naming a file that is not there any more.
std::array<uint64_t, 2> identity_of(const WeightOrigin& origin,
                                    const std::vector<Resident>& residents);

}  // namespace dure
