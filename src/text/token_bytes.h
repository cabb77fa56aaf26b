// What each token of a vocabulary adds to the text, for whoever restricts tokens by the text they
// would make.
#pragma once

#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace dure {

// [vocabulary_size]: the bytes that the id adds behind other tokens, which may end inside a
// character. Empty for special tokens and unused ids. (What a decoder strips from the front of a
// whole text is still there.)
std::vector<std::string> token_bytes(const Tokenizer& tokenizer);

}  // namespace dure
