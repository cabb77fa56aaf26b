// Picks the backend for this CPU.
#include <algorithm>
#include <string>

#include "base/error.h"
#include "kernels/backend.h"
#include "kernels/cpu/reference/reference_backend.h"
#if defined(__x86_64__)
#include "kernels/cpu/vector/cpu_features.h"
#include "kernels/cpu/vector/vector_backend.h"
#endif

namespace dure {
namespace {

#if defined(__x86_64__)
std::unique_ptr<Backend> make_vector_backend(int threads, std::string_view isa) {
  if (isa == "avx2") return std::make_unique<VectorBackend>("avx2", avx2_kernels(), threads);
  KernelTable kernels = avx512_kernels();
  if (isa == "avx512") return std::make_unique<VectorBackend>("avx512", kernels, threads);
  kernels.matmul_codes[static_cast<size_t>(CodeFormat::q8)] = avx512_vnni_matmul_q8;
  kernels.matmul_codes[static_cast<size_t>(CodeFormat::q4)] = avx512_vnni_matmul_q4;
  kernels.code_bias = 0;
  kernels.peak_codes = avx512_vnni_peak;
  if (isa == "avx512-vnni") return std::make_unique<VectorBackend>("avx512-vnni", kernels, threads);
  kernels.matmul_bf16 = avx512_bf16_matmul;
  avx512_bf16_decoders(kernels);
  return std::make_unique<VectorBackend>("avx512-bf16", kernels, threads);
}
#endif

std::string joined(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

}  // namespace

std::vector<std::string_view> cpu_isas() {
  std::vector<std::string_view> isas = {"reference"};
#if defined(__x86_64__)
  const CpuFeatures features = cpu_features();
  if (features.avx2) isas.push_back("avx2");
  if (features.avx512) isas.push_back("avx512");
  if (features.avx512_vnni) isas.push_back("avx512-vnni");
  if (features.avx512_bf16) isas.push_back("avx512-bf16");
#endif
  return isas;
}

std::unique_ptr<Backend> make_cpu_backend(int threads, std::string_view isa) {
  const std::vector<std::string_view> isas = cpu_isas();
  if (isa.empty()) isa = isas.back();
  if (std::find(isas.begin(), isas.end(), isa) == isas.end())
    throw_bad_input("this CPU cannot run the instruction set \"" + std::string(isa) + "\"",
                    "it runs: " + joined(isas));
  if (isa == "reference") return std::make_unique<ReferenceBackend>();
#if defined(__x86_64__)
  return make_vector_backend(threads, isa);
#else
  check_failed("a listed instruction set", __FILE__, __LINE__);
#endif
}

int64_t kv_page_elements(int64_t page_tokens, int64_t kv_heads, int64_t head_dim) {
  return page_tokens * kv_heads * head_dim;
}

}  // namespace dure
