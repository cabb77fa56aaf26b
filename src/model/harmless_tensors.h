// Tensors that some checkpoints hold beside their weights and that no computation reads: buffers
// that old tools saved although they follow from the config.
#pragma once

#include <string_view>

namespace dure {

bool is_harmless(std::string_view tensor_name);

}  // namespace dure
