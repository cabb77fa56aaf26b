// The accelerators that plans name: how much memory each has on paper and how much a process can
// really have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dure {

struct Gpu {
  std::string name;
  int64_t nominal_bytes = 0;  // as sold, decimal
  int64_t usable_bytes = 0;   // as the driver reports for the device
};

// A catalogue name in any case ("h100"), or a memory size ("80GB", "80GiB"), of which all is
// usable. Throws bad_input naming the closest known one.
Gpu find_gpu(std::string_view text);

std::vector<std::string> known_gpus();

}  // namespace dure
