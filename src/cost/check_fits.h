// The last question before ranks are started here: is there room for them?
#pragma once

#include <cstdint>
#include <vector>

#include "cost/memory.h"

namespace dure {

// Throws answer_is_no if the first `ranks_here` ranks of the group (0: all of them) need more than
// `available` bytes (available_memory() of this machine); the message has the sum by kind, the hint
// the nearest thing that fits: a smaller cache, or a layout over more machines.
void check_fits_this_machine(const ModelSpec& spec, const std::vector<Weight>& weights,
                             const Layout& layout, const RunShape& shape, int ranks_here,
                             int64_t available);

}  // namespace dure
