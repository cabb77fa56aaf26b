// Philox4x32-10, a counter-based generator (Salmon, Moraes, Dror, Shaw: "Parallel random numbers:
// as easy as 1, 2, 3", SC 2011): the same key and counter always give the same numbers, so a
// replayed request draws the same tokens.
#pragma once

#include <array>
#include <cstdint>

namespace dure {

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// A number in [0, 1), a multiple of 2^-53, from the first two words of (counter = position, key =
// seed).
double philox_uniform(uint64_t seed, uint64_t position);

}  // namespace dure
