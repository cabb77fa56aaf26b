// config.json from hostile bytes: a spec whose sizes add up, or an error.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "model/inventory.h"
#include "model/load_spec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const dure::ModelSpec spec = dure::spec_from_config(dure::parse_json(text, "fuzz"), "fuzz");
    const int64_t total = dure::total_parameters(spec);
    DURE_CHECK(total > 0 && dure::active_parameters(spec) <= total);
  } catch (const dure::Error&) {
  }
  return 0;
}
