// The machine's own limits, measured: multiply-adds that stay in registers, and a stream of reads.
// For benchmarks and for calibrating the cost model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dure {

struct PeakLoop {
  // Runs `rounds` rounds on the calling thread; the result only keeps the compiler honest.
  float (*run)(int64_t rounds) = nullptr;
  int64_t operations_per_round = 0;  // a multiply-add counts as two
};

enum class Products { fp32, bf16, int8 };

// The fastest multiply-adds of an instruction set that make_cpu_backend knows. bf16 means pairs,
// where there are none ("avx512-bf16" alone has them) fp32.
PeakLoop peak_loop(std::string_view isa, Products products);

// Reads all bytes once on the calling thread. bytes is a multiple of 256.
uint64_t read_stream(std::string_view isa, const std::byte* data, int64_t bytes);

}  // namespace dure
