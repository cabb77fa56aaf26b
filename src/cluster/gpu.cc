// See gpu.h. Usable sizes are the device totals that drivers report (cudaMemGetInfo or nvidia-smi,
// amd-smi) with ECC on and MIG off, as published in users' logs and vendors' guides; boards of one
// name differ by some tens of MiB, and of b300 and gb300 few reports exist. What a running driver
// keeps for a process's context is counted as overhead, not here.
#include "cluster/gpu.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "base/closest.h"
#include "base/error.h"
#include "base/units.h"

namespace dure {
namespace {

struct Entry {
  std::string_view name;
  int64_t nominal_gb;     // 1e9 bytes
  double usable_gib;      // 2^30 bytes
  double memory_tb;       // 1e12 bytes per second
  double bf16, fp8, fp4;  // 1e12 operations per second, dense
  double link_gb;         // 1e9 bytes per second each way
  int domain;
};

// Speeds: data sheets of SXM boards (of cards for l40s and rtx), halved where they count sparse
// matrices; links one way of what is stated both ways.
constexpr Entry catalogue[] = {
    {"a100-80", 80, 79.15, 2.039, 312, 312, 312, 300, 8},
    {"a100-40", 40, 39.39, 1.555, 312, 312, 312, 300, 8},
    {"h100", 80, 79.19, 3.35, 989.4, 1978.9, 1978.9, 450, 8},
    {"h200", 141, 139.80, 4.8, 989.4, 1978.9, 1978.9, 450, 8},
    {"h800", 80, 79.19, 3.35, 989.4, 1978.9, 1978.9, 200, 8},
    {"h20", 96, 95.00, 4.0, 148, 296, 296, 450, 8},
    {"b200", 192, 178.35, 7.7, 2250, 4500, 9000, 900, 8},
    {"b300", 288, 267.69, 8.0, 2250, 4500, 13500, 900, 8},
    {"gb200", 192, 184.31, 8.0, 2500, 5000, 10000, 900, 72},
    {"gb300", 288, 276.60, 8.0, 2500, 5000, 15000, 900, 72},
    {"mi300x", 192, 191.98, 5.3, 1307.4, 2614.9, 2614.9, 448, 8},
    {"mi325x", 256, 255.98, 6.0, 1307.4, 2614.9, 2614.9, 448, 8},
    {"mi355x", 288, 287.98, 8.0, 2516.6, 5033.2, 10066.3, 538, 8},
    {"a10g", 24, 22.05, 0.6, 70, 70, 70, 32, 1},
    {"l4", 24, 22.03, 0.3, 121, 242, 242, 32, 1},
    {"l20", 48, 44.52, 0.864, 119.5, 239, 239, 32, 1},
    {"l40s", 48, 44.40, 0.864, 362, 733, 733, 32, 1},
    {"rtx3090", 24, 23.69, 0.936, 71, 71, 71, 32, 1},
    {"rtx4090", 24, 23.50, 1.008, 165.2, 330.3, 330.3, 32, 1},
    {"rtx5090", 32, 31.36, 1.792, 209.5, 419, 838, 64, 1},
};

}  // namespace

std::vector<std::string> known_gpus() {
  std::vector<std::string> names;
  for (const Entry& entry : catalogue) names.emplace_back(entry.name);
  return names;
}

Gpu find_gpu(std::string_view text) {
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const Entry& entry : catalogue) {
    if (entry.name != name) continue;
    constexpr double gib = 1024.0 * 1024.0 * 1024.0;
    return {name, entry.nominal_gb * 1'000'000'000, static_cast<int64_t>(entry.usable_gib * gib),
            GpuSpeed{entry.memory_tb * 1e12, entry.bf16 * 1e12, entry.fp8 * 1e12, entry.fp4 * 1e12,
                     entry.link_gb * 1e9, entry.domain}};
  }
  if (!name.empty() && (std::isdigit(static_cast<unsigned char>(name[0])) != 0 || name[0] == '.')) {
    const int64_t bytes = parse_bytes(text, "--gpu");
    return {std::string(text), bytes, bytes, std::nullopt};
  }
  throw_bad_input(
      fmt::format("--gpu {:.40}: unknown", text),
      fmt::format("did you mean {}? Known are {}, cpu, or a size such as 80GB",
                  closest(name, known_gpus()).value_or("h100"), fmt::join(known_gpus(), ", ")),
      "gpu");
}

}  // namespace dure
