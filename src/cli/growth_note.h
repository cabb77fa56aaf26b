// What quantized matrices grow to in memory, where they are kept in other numbers than the file's.
#pragma once

#include <string>
#include <vector>

#include "model/checkpoint.h"
#include "model/spec.h"
#include "tensor/dtype.h"

namespace dure {

// A line for the user; empty where nothing grows.
std::string growth_note(const std::vector<Weight>& weights, const CheckpointReader& checkpoint,
                        const ModelSpec& spec, Compute compute);

}  // namespace dure
