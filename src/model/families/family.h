// One family of checkpoints: how its config.json becomes a ModelSpec. A new family is one file with
// one such function, and one line in the registry (load_spec.cc).
#pragma once

#include <string_view>

#include "model/config_reader.h"
#include "model/spec.h"

namespace dure {

struct Family {
  std::string_view name;  // model_type
  // Fills everything but `family`; reads every key that it understands.
  void (*read)(ConfigReader& config, ModelSpec& spec);
};

extern const Family llama_family;
extern const Family mistral_family;
extern const Family mixtral_family;
extern const Family olmoe_family;
extern const Family qwen2_family;
extern const Family qwen2_moe_family;
extern const Family qwen3_family;
extern const Family qwen3_moe_family;

}  // namespace dure
