// Unicode normalisation form C with the tables of Unicode 9.0, as Hugging Face tokenizers applies
// it: marks and compositions that were added later stay where they are.
#pragma once

#include <string>
#include <string_view>

namespace dure {

// `text` must be valid UTF-8. Time is linear but for sorting runs of combining marks.
std::string nfc(std::string_view text);

}  // namespace dure
