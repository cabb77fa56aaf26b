// How a recurrent state lies in its slot: in panels of 32 value columns, so that a panel of 128
// keys stays in the first-level cache while tokens pass. The same in all backends. May be included
// by files compiled for one ISA.
#pragma once

#include <cstdint>

namespace dure {

inline constexpr int64_t state_columns = 32;  // of a panel

static constexpr int64_t state_panels(int64_t values) {
  return (values + state_columns - 1) / state_columns;
}

}  // namespace dure
