// pread until all is there.
#pragma once

#include <cstdint>
#include <string>

namespace dure {

// Bytes [offset, offset + bytes) of an open file. Throws `failed` naming `what`.
void read_exactly(int descriptor, int64_t offset, int64_t bytes, void* to, const std::string& what);

}  // namespace dure
