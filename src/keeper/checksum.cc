// See checksum.h.
#include "keeper/checksum.h"

#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace dure {

uint64_t checksum_of(std::span<const std::byte> bytes, int threads) {
  constexpr size_t block = size_t{16} << 20;
  std::vector<uint64_t> sums((bytes.size() + block - 1) / block);
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < sums.size(); i = next++) {
      const auto piece = bytes.subspan(i * block, std::min(block, bytes.size() - i * block));
      sums[i] = XXH3_64bits(piece.data(), piece.size());
    }
  };
  std::vector<std::thread> helpers;
  const int more = std::min<int>(threads, static_cast<int>(sums.size())) - 1;
  helpers.reserve(static_cast<size_t>(std::max(more, 0)));
  for (int i = 0; i < more; ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  return XXH3_64bits(sums.data(), sums.size() * sizeof(uint64_t));
}

}  // namespace dure
