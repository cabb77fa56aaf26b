// One family of checkpoints: how its config.json becomes a ModelSpec. A new family is one file with
// one such function, and one line in the registry (load_spec.cc).
#pragma once

#include <string_view>

#include "model/config_reader.h"
#include "model/spec.h"

namespace dure {

struct Family {
  std::string_view name;  // model_type, of text parts that of text_config
  // Fills everything but `family`; reads every key that it understands.
  void (*read)(ConfigReader& config, ModelSpec& spec);
};

extern const Family deepseek_ref_family;
extern const Family deepseek_v2_family;
extern const Family deepseek_v3_family;
extern const Family deepseek_v32_family;
extern const Family deepseek_v4_family;
extern const Family ernie4_5_moe_family;
extern const Family gemma_family;
extern const Family gemma2_family;
extern const Family gemma3_family;
extern const Family gemma4_family;
extern const Family glm4_moe_family;
extern const Family glm_moe_dsa_family;
extern const Family gpt_oss_family;
extern const Family granite_family;
extern const Family granitemoe_family;
extern const Family hunyuan_v1_moe_family;
extern const Family kimi_k2_family;
extern const Family kimi_linear_family;
extern const Family llama_family;
extern const Family llama4_family;
extern const Family mimo_family;
extern const Family mimo_v2_flash_family;
extern const Family minimax_m2_family;
extern const Family minimax_m3_family;
extern const Family mistral_family;
extern const Family mixtral_family;
extern const Family nemotron_h_family;
extern const Family nemotron_nas_family;
extern const Family olmoe_family;
extern const Family phi_family;
extern const Family phi3_family;
extern const Family qwen2_family;
extern const Family qwen2_moe_family;
extern const Family qwen3_family;
extern const Family qwen3_5_family;
extern const Family qwen3_5_moe_family;
extern const Family qwen3_moe_family;
extern const Family qwen3_next_family;
extern const Family qwen3_vl_family;
extern const Family qwen3_vl_moe_family;

}  // namespace dure
