// The books from which the codes of low-bit formats choose several values at once. An entry holds
// numbers of levels: eight of 2 bits, or four of 3 bits, the first in the lowest bits.
#pragma once

#include <array>
#include <cstdint>

namespace dure {

// Levels -1, 0, 1.
extern const std::array<uint16_t, 2048> iq1_book;
// Levels 8, 25, 43.
extern const std::array<uint16_t, 256> iq2_xxs_book;
extern const std::array<uint16_t, 512> iq2_xs_book;
extern const std::array<uint16_t, 1024> iq2_s_book;
// Levels 4, 12, 20, 28, 36, 44, 52, 62.
extern const std::array<uint16_t, 256> iq3_xxs_book;
// Levels 1, 3, 5, …, 15.
extern const std::array<uint16_t, 512> iq3_s_book;

}  // namespace dure
