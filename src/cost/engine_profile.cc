// See engine_profile.h.
#include "cost/engine_profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/closest.h"
#include "base/error.h"

namespace dure {
namespace {

constexpr double gib = 1024.0 * 1024.0 * 1024.0;

int64_t from_gib(double size) {
  return static_cast<int64_t>(size * gib);
}

struct EngineName {
  Engine engine;
  std::string_view name;
  std::string_view label;
  std::string_view newest;  // that was measured
};

constexpr std::array names = {
    EngineName{Engine::dure, "dure", "Dure", ""},
    EngineName{Engine::vllm, "vllm", "vLLM", "0.19.0"},
    EngineName{Engine::sglang, "sglang", "SGLang", "0.5"},
    EngineName{Engine::trtllm, "trtllm", "TensorRT-LLM", "1.0"},
};

const EngineName& name_of(Engine engine) {
  return *std::find_if(names.begin(), names.end(),
                       [engine](const EngineName& each) { return each.engine == engine; });
}

// Major and minor as one number, 0.19 = 19: what comes after them is not told apart.
int minor_of(std::string_view version) {
  const auto fail = [version] {
    throw_bad_input(fmt::format("--engine-version {:.40}: not a version", version),
                    "such as 0.19.0 or 0.11", "engine-version");
  };
  std::array<int, 2> parts{};
  std::string_view rest = version;
  if (!rest.empty() && rest.front() == 'v') rest.remove_prefix(1);
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), parts[i]);
    if (error != std::errc() || parts[i] < 0 || parts[i] > 9999) fail();
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    if (i == 0) {
      if (rest.empty() || rest.front() != '.') fail();
      rest.remove_prefix(1);
    }
  }
  return parts[0] * 10000 + parts[1];
}

// Engines take larger steps on GPUs that data centres have.
bool is_large(int64_t gpu_bytes) {
  return gpu_bytes >= from_gib(70);
}

// Sampler: logits as fp32, their softmax and a random number for each are three copies; since 0.17
// top-k and top-p are found in one kernel with a row of scratch for each of 132 multiprocessors;
// before, by a sort with its values, 64-bit indices and scratch. Communication: NCCL's channels,
// and since then workspaces of fused all-reduce.
void fill_vllm(EngineProfile& profile, int minor, int64_t gpu_bytes) {
  profile.batch_tokens = is_large(gpu_bytes) ? 8192 : 2048;
  profile.max_sequences = is_large(gpu_bytes) ? 1024 : 256;
  profile.group_peer = from_gib(0.04);
  if (minor < 9) {  // the engine before its rewrite
    profile.label += " (overheads as before 0.9)";
    profile.batch_tokens = 2048;
    profile.max_sequences = 256;
    profile.whole_prompts = true;
    profile.sampler_copies = 8.77;
    profile.context = from_gib(0.45);
    profile.group = from_gib(0.31);
  } else if (minor < 17) {
    profile.label += " (overheads as of 0.10 and 0.11)";
    profile.sampler_copies = 8.77;
    profile.context = from_gib(0.236);
    profile.group = from_gib(0.31);
  } else {
    profile.label += " (overheads as of 0.19)";
    profile.sampler_copies = 3.0 + 132.0 / 1024.0;
    profile.context = from_gib(0.236);
    profile.group = from_gib(1.73);
    profile.graphs_inside = minor >= 20;
    profile.counts_by_longest = minor >= 20;
  }
}

// From its documentation and source; no row with all its flags was measured.
void fill_sglang(EngineProfile& profile, int64_t gpu_bytes) {
  profile.label += " (by its rules, not measured)";
  profile.budget = Budget::of_free_at_start;
  profile.utilization = 0.0;
  profile.batch_tokens = gpu_bytes < from_gib(35)    ? 2048
                         : gpu_bytes < from_gib(60)  ? 4096
                         : gpu_bytes < from_gib(160) ? 8192
                                                     : 16384;
  profile.max_sequences = gpu_bytes < from_gib(35) ? 24 : is_large(gpu_bytes) ? 256 : 80;
  profile.context = from_gib(0.45);
  profile.group = from_gib(0.6);
  profile.group_peer = from_gib(0.04);
  profile.page_tokens = 1;
}

void fill_trtllm(EngineProfile& profile) {
  profile.label += " (by its rules, not measured)";
  profile.budget = Budget::of_what_is_left;
  profile.max_sequences = 2048;
  profile.context = from_gib(0.6);
  profile.group = from_gib(0.6);
  profile.group_peer = from_gib(0.04);
  profile.page_tokens = 32;
}

}  // namespace

std::string_view to_string(Engine engine) {
  return name_of(engine).name;
}

std::vector<std::string> known_engines() {
  std::vector<std::string> known;
  known.reserve(names.size());
  for (const EngineName& each : names) known.emplace_back(each.name);
  return known;
}

Engine find_engine(std::string_view name) {
  for (const EngineName& each : names) {
    if (each.name == name) return each.engine;
  }
  throw_bad_input(
      fmt::format("engine {:.40}: unknown", name),
      fmt::format("did you mean {}? Known are {}", closest(name, known_engines()).value_or("vllm"),
                  fmt::join(known_engines(), ", ")),
      "engine");
}

EngineProfile engine_profile(Engine engine, std::string_view version, int64_t gpu_bytes) {
  DURE_CHECK(engine != Engine::dure);
  const EngineName& name = name_of(engine);
  EngineProfile profile;
  profile.engine = engine;
  profile.version = version.empty() ? name.newest : version;
  profile.label = fmt::format("{} {}", name.label, profile.version);
  const int minor = minor_of(profile.version);
  if (engine == Engine::vllm) fill_vllm(profile, minor, gpu_bytes);
  if (engine == Engine::sglang) fill_sglang(profile, gpu_bytes);
  if (engine == Engine::trtllm) fill_trtllm(profile);
  return profile;
}

}  // namespace dure
