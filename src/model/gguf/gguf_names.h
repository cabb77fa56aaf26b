// Where the weights of a model lie in a GGUF file.
#pragma once

#include <vector>

#include "model/inventory.h"

namespace dure {

// Gives each weight of an inventory its tensor's name, shape and view there.
void place_in_gguf(const ModelSpec& spec, std::vector<Weight>& weights);

}  // namespace dure
