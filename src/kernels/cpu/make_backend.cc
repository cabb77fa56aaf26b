// Picks the backend for this CPU.
#include <string>

#include "base/error.h"
#include "kernels/backend.h"
#include "kernels/cpu/reference/reference_backend.h"

namespace dure {

std::vector<std::string_view> cpu_isas() {
  return {"reference"};
}

std::unique_ptr<Backend> make_cpu_backend(int /*threads*/, std::string_view isa) {
  if (isa.empty() || isa == "reference") return std::make_unique<ReferenceBackend>();
  throw_bad_input("unknown instruction set \"" + std::string(isa) + "\"", "use one of: reference");
}

int64_t kv_page_elements(int64_t page_tokens, int64_t kv_heads, int64_t head_dim) {
  return page_tokens * kv_heads * head_dim;
}

}  // namespace dure
