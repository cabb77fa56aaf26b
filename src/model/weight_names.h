// How a checkpoint spells and stores its tensors, where families differ.
#pragma once

#include <optional>
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

// How the matrices that read the hidden state for a delta net lie in the file.
enum class DeltaStorage {
  separate,  // q_proj, k_proj, v_proj and two small matrices for each gate (Kimi Linear)
  grouped,   // in_proj_qkvz: of each key head its q, k, v, z; in_proj_ba likewise (Qwen3-Next)
  joined,    // in_proj_qkv: all q, all k, all v; in_proj_z, in_proj_b, in_proj_a (Qwen3.5)
};

// Of files of the GGUF kind, whose names are fixed (gguf/gguf_names.cc); those below do not count.
struct GgufNames {
  bool split_kv_b =
      true;  // latent attention's second matrix in two, one tensor for k and one for v
  bool ffn_norm_after_attention = false;  // the norm before experts is called after what it follows
};

struct WeightNames {
  std::string body = "model.";  // before embed_tokens, layers.N and norm
  std::string embedding = "embed_tokens";
  std::string final_norm = "norm";
  std::string head = "lm_head.weight";
  std::string attention = "self_attn";  // model.layers.N.<attention>.
  std::string delta_net = "linear_attn";
  DeltaStorage delta_storage = DeltaStorage::joined;
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
  bool shared_as_experts = false;       // its matrices are named as the experts'
  std::string gate_proj = "gate_proj";  // inside one expert
  std::string up_proj = "up_proj";
  std::string down_proj = "down_proj";
  ExpertStorage experts = ExpertStorage::separate;
  std::string stacked_gate_up = "experts.gate_up_proj";  // after <moe_block>.
  std::string stacked_down = "experts.down_proj";
  std::string latent_in = "fc1_latent_proj";  // after <moe_block>.
  std::string latent_out = "fc2_latent_proj";
  std::string latent_norm = "routed_expert_norm";
  // Of mixtures with a dense part beside them.
  std::string after_beside_norm = "post_feedforward_layernorm_1";
  std::string experts_norm = "pre_feedforward_layernorm_2";
  std::string after_experts_norm = "post_feedforward_layernorm_2";
  // Tensors whose names start so belong to parts that are not run: towers of other modalities.
  std::vector<std::string> other_parts = {};
  std::optional<GgufNames> gguf = {};
};

}  // namespace dure
