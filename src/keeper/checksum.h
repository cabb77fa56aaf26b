// The checksum of a rank's weights, by several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dure {

// xxh3 of the xxh3 of blocks of 16 MiB: the same for any number of threads.
uint64_t checksum_of(std::span<const std::byte> bytes, int threads);

}  // namespace dure
