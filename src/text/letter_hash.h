// Ids made of a text: letters and digits that are the same for the same text.
#pragma once

#include <string>
#include <string_view>

namespace dure {

std::string letter_hash(std::string_view text, size_t letters);

}  // namespace dure
