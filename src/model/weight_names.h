// How a checkpoint spells and stores its tensors, where families differ.
#pragma once

#include <string>
#include <vector>

namespace dure {

// How the matrices of all experts of a layer lie in the file.
enum class ExpertStorage {
  separate,            // a tensor each
  stacked_out_in,      // [experts, outputs, inputs]; gate and up one after the other
  stacked_in_out,      // [experts, inputs, outputs]
  interleaved_in_out,  // the same, gate and up outputs alternating (gpt-oss)
};

struct WeightNames {
  std::string body = "model.";  // before embed_tokens, layers.N and norm
  std::string head = "lm_head.weight";
  std::string attention = "self_attn";  // model.layers.N.<attention>.
  std::string attention_norm = "input_layernorm";
  std::string after_attention_norm = {};  // of models with norms_after
  std::string ffn_norm = "post_attention_layernorm";
  std::string after_ffn_norm = {};
  std::string q_norm = "q_norm";
  std::string k_norm = "k_norm";
  std::string sinks = "sinks";
  bool fused_qkv = false;           // qkv_proj: q, k, v
  bool fused_gate_up = false;       // gate_up_proj: gate, up
  std::string dense_block = "mlp";  // model.layers.N.<dense_block>.gate_proj.weight
  std::string moe_block = "mlp";    // model.layers.N.<moe_block>.<router>.weight
  std::string router = "gate";
  std::string correction = "gate.e_score_correction_bias";
  std::string shared = "shared_expert";
  std::string gate_proj = "gate_proj";  // inside one expert
  std::string up_proj = "up_proj";
  std::string down_proj = "down_proj";
  ExpertStorage experts = ExpertStorage::separate;
  std::string stacked_gate_up = "experts.gate_up_proj";  // after <moe_block>.
  std::string stacked_down = "experts.down_proj";
  // Tensors whose names start so belong to parts that are not run: towers of other modalities.
  std::vector<std::string> other_parts = {};
};

}  // namespace dure
