// In which numbers weights are stored, as far as memory depends on it.
#pragma once

#include <string_view>

namespace dure {

// Scales and zero points of a block format are part of its bits.
struct WeightFormat {
  std::string_view name;  // of static storage
  double bits_per_weight = 16;
  // On the matrices that the checkpoint itself stores so, and each in its own format; otherwise on
  // all that quantized releases usually store in their small type.
  bool released = false;
  bool operator==(const WeightFormat&) const = default;
};

}  // namespace dure
