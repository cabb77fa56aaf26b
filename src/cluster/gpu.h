// The accelerators that plans name: how much memory each has on paper and how much a process can
// really have, and how fast data sheets say it is (dense, never the sparse figures).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dure {

struct GpuSpeed {
  double memory = 0.0;  // bytes per second
  double bf16 = 0.0;    // multiply-adds count two: operations per second of matrix units
  double fp8 = 0.0;     // bf16's where there are no units for it
  double fp4 = 0.0;     // fp8's, or bf16's, where there are none
  double link = 0.0;    // bytes per second to the other GPUs of a domain, each way
  int domain = 8;       // GPUs that reach each other at that speed
};

struct Gpu {
  std::string name;
  int64_t nominal_bytes = 0;      // as sold, decimal
  int64_t usable_bytes = 0;       // as the driver reports for the device
  std::optional<GpuSpeed> speed;  // of a catalogue name
};

// A catalogue name in any case ("h100"), or a memory size ("80GB", "80GiB"), of which all is
// usable. Throws bad_input naming the closest known one.
Gpu find_gpu(std::string_view text);

std::vector<std::string> known_gpus();

}  // namespace dure
