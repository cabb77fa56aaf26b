// Whether a rank can draw by what a slice says of sampling.
#pragma once

#include <cstdint>
#include <string>

#include "protocol/messages.h"

namespace dure {

// What is wrong with the slice's setup, next token or mask: a token that the vocabulary lacks, a
// number out of its range, a list of the wrong length. Empty: nothing.
std::string setup_fault(const Slice& slice, int64_t vocab);

}  // namespace dure
