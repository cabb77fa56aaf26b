// What quantized matrices of a file grow to in memory, where they are kept in other numbers.
#pragma once

#include <string>
#include <vector>

#include "cost/resident.h"
#include "model/checkpoint.h"
#include "model/spec.h"

namespace dure {

// A line for the user; empty where nothing grows.
std::string growth_note(const std::vector<Weight>& weights, const CheckpointReader& checkpoint,
                        const ModelSpec& spec, Arithmetic arithmetic);

}  // namespace dure
