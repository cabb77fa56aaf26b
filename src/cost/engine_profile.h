// What differs between GPU engines and their versions where memory is concerned: how they size a
// step, what their start-up profile allocates at its peak, what lies beside the budget. Constants
// were derived from what the engines printed at start (testdata/measured) and are few on purpose.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dure {

enum class Engine { dure, vllm, sglang, trtllm };

std::string_view to_string(Engine engine);
std::vector<std::string> known_engines();
// Throws bad_input naming the known ones.
Engine find_engine(std::string_view name);

// How the memory that the cache gets is told.
enum class Budget {
  of_total,          // utilization × all of the GPU's memory, peak activations inside (vLLM)
  of_free_at_start,  // fraction × what is free before loading, weights inside alone (SGLang)
  of_what_is_left,   // fraction × what weights and peak activations leave (TensorRT-LLM)
};

struct EngineProfile {
  Engine engine = Engine::vllm;
  std::string version;  // as asked for, or the one assumed where nothing was
  std::string label;    // "vLLM 0.19.0 (overheads as from 0.17)": which model of overheads it is
  Budget budget = Budget::of_total;
  double utilization = 0.9;      // where the user gives none; 0: the engine derives it
  int64_t batch_tokens = 8192;   // of the largest step
  int64_t max_sequences = 1024;  // rows of logits in the profile
  bool whole_prompts = false;    // a step takes a prompt of the longest context at once
  // Copies of [max_sequences, vocab] fp32 at the sampler's peak, without the head's own output.
  double sampler_copies = 3.0;
  int64_t context = 0;             // bytes beside PyTorch's, of a GPU alone
  int64_t group = 0;               // bytes of communication, where tp > 1
  int64_t group_peer = 0;          // and for each rank of that group
  int64_t page_tokens = 16;        // of the cache
  bool graphs_inside = false;      // recorded steps are charged to the budget
  bool counts_by_longest = false;  // prints sequences of the longest context × that context
};

// `version` such as "0.19.0", "0.11.x" or "0.9.2+"; empty: the newest that was measured.
// `gpu_bytes`: usable, since engines choose the size of a step by it. Engine::dure has no profile.
// Throws bad_input for what is not a version.
EngineProfile engine_profile(Engine engine, std::string_view version, int64_t gpu_bytes);

}  // namespace dure
