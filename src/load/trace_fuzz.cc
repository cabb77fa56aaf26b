// Any bytes as a trace and as a file of prompts: refused, or read into requests that can be
// written.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "load/workload.h"

namespace {

// Small ones only: a trace may well ask for prompts of gigabytes.
void write_first_requests(dure::load::WorkloadSpec spec) {
  spec.requests = 4;
  dure::load::Workload workload(std::move(spec));
  while (auto plan = workload.next()) {
    if (plan->input < 10000) prompt_member(plan->prompt, {}, 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    dure::load::WorkloadSpec spec;
    spec.concurrency = 0;
    spec.trace = dure::load::parse_trace(text, "fuzz");
    write_first_requests(std::move(spec));
  } catch (const dure::Error&) {
  }
  try {
    dure::load::WorkloadSpec spec;
    spec.prompts = dure::load::parse_prompts(text, "fuzz", false);
    write_first_requests(std::move(spec));
  } catch (const dure::Error&) {
  }
  return 0;
}
