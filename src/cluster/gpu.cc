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
  int64_t nominal_gb;  // 1e9 bytes
  double usable_gib;   // 2^30 bytes
};

constexpr Entry catalogue[] = {
    {"a100-80", 80, 79.15},  {"h100", 80, 79.19},     {"h200", 141, 139.80},
    {"h800", 80, 79.19},     {"h20", 96, 95.00},      {"b200", 192, 178.35},
    {"b300", 288, 267.69},   {"gb200", 192, 184.31},  {"gb300", 288, 276.60},
    {"mi300x", 192, 191.98}, {"mi325x", 256, 255.98}, {"mi355x", 288, 287.98},
    {"l40s", 48, 44.40},     {"rtx4090", 24, 23.50},  {"rtx5090", 32, 31.36},
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
    return {name, entry.nominal_gb * 1'000'000'000, static_cast<int64_t>(entry.usable_gib * gib)};
  }
  if (!name.empty() && (std::isdigit(static_cast<unsigned char>(name[0])) != 0 || name[0] == '.')) {
    const int64_t bytes = parse_bytes(text, "--gpu");
    return {std::string(text), bytes, bytes};
  }
  throw_bad_input(
      fmt::format("--gpu {:.40}: unknown", text),
      fmt::format("did you mean {}? Known are {}, cpu, or a size such as 80GB",
                  closest(name, known_gpus()).value_or("h100"), fmt::join(known_gpus(), ", ")),
      "gpu");
}

}  // namespace dure
