// Nemotron-H and Nemotron 3 (arXiv:2504.03624): each layer is one part only, a Mamba-2 mixer,
// attention without positions, a mixture or a dense part; experts without gates.
#include <fmt/format.h>

#include <cmath>

#include "model/decoder_config.h"
#include "model/families/family.h"
#include "model/moe_config.h"

namespace dure {
namespace {

enum class Block { mamba, attention, mixture, dense };

Block block_of(ConfigReader& config, const char* key, std::string_view name) {
  if (name == "M" || name == "mamba" || name == "linear_attention") return Block::mamba;
  if (name == "*" || name == "attention" || name == "full_attention") return Block::attention;
  if (name == "E" || name == "moe") return Block::mixture;
  if (name == "-" || name == "mlp") return Block::dense;
  config.fail(key, fmt::format("\"{:.60}\" is not supported", name),
              "supported: mamba (M), attention (*), moe (E), mlp (-)");
}

// hybrid_override_pattern has a letter for each layer, layers_block_type a word.
std::vector<Block> read_blocks(ConfigReader& config) {
  constexpr size_t most_layers = 1024;
  std::vector<Block> blocks;
  const auto words = config.texts_or_empty("layers_block_type", most_layers);
  blocks.reserve(words.size());
  for (const std::string& word : words) {
    blocks.push_back(block_of(config, "layers_block_type", word));
  }
  const std::string letters = config.optional_text("hybrid_override_pattern");
  if (letters.size() > most_layers) {
    config.fail("hybrid_override_pattern", fmt::format("{} layers", letters.size()));
  }
  std::vector<Block> spelled;
  spelled.reserve(letters.size());
  for (const char letter : letters) {
    spelled.push_back(block_of(config, "hybrid_override_pattern", std::string_view(&letter, 1)));
  }
  if (blocks.empty()) blocks = spelled;
  if (config.has("hybrid_override_pattern") && spelled != blocks) {
    config.fail("hybrid_override_pattern", "contradicts layers_block_type", "keep one of the two");
  }
  if (blocks.empty()) config.fail("layers_block_type", "missing");
  config.only_integer("num_hidden_layers", static_cast<int64_t>(blocks.size()));
  return blocks;
}

Mamba2Spec read_mamba(ConfigReader& config) {
  Mamba2Spec mamba;
  mamba.heads = read_head_count(config, "mamba_num_heads");
  mamba.head_dim = read_head_dim(config, "mamba_head_dim");
  mamba.groups = read_head_count(config, "n_groups");
  mamba.state_dim = read_head_dim(config, "ssm_state_size");
  mamba.conv_width = config.integer_or("conv_kernel", 4, {2, 64});
  mamba.conv_bias = config.boolean_or("use_conv_bias", true);
  if (mamba.heads % mamba.groups != 0) {
    config.fail("n_groups",
                fmt::format("{} does not divide mamba_num_heads = {}", mamba.groups, mamba.heads));
  }
  config.only_text("mamba_hidden_act", "silu");
  config.only_flag("mamba_proj_bias", false);
  config.only_flag("use_bias", false);
  config.ignore("expand");                             // heads and their size say it
  config.ignore({"chunk_size", "use_mamba_kernels"});  // how another engine computes
  config.ignore("mamba_ssm_cache_dtype");              // states are kept in fp32
  config.ignore({"time_step_min", "time_step_max", "time_step_floor"});  // of initial weights
  const auto limit = config.numbers_or_empty("time_step_limit", 0.0, 1e308, 2);
  if (!limit.empty() && (limit.size() != 2 || limit[0] != 0.0 || limit[1] < 1e300)) {
    config.fail("time_step_limit", "limits other than none are not supported");
  }
  return mamba;
}

MoeFfn read_mixture(ConfigReader& config, int64_t layers, const ActivationSpec& activation) {
  MoeFfn moe;
  read_expert_count(config, layers, {.experts = "n_routed_experts", .chosen = 2}, moe);
  moe.intermediate = read_width(config, "moe_intermediate_size");
  moe.activation = activation;
  moe.router = read_routing(config, moe, {});
  const int64_t shared = config.integer_or("n_shared_experts", 1, {0, 64});
  const int64_t width = read_width(config, "moe_shared_expert_intermediate_size");
  if (shared > 0) moe.shared = SharedExpert{.intermediate = shared * width};
  if (config.has("moe_latent_size")) {
    moe.latent = LatentExperts{.width = read_width(config, "moe_latent_size")};
  }
  config.ignore("moe_shared_expert_overlap");  // in time, on another engine
  return moe;
}

GqaSpec read_still_attention(ConfigReader& config, const ModelSpec& spec) {
  GqaSpec attention = read_heads(config, spec, {.head_dim = 128, .kv_heads = 8});
  attention.qkv_bias = config.boolean_or("attention_bias", false);
  attention.o_bias = attention.qkv_bias;
  attention.rope = {.kind = RopeKind::none};
  config.ignore({"rope_theta", "partial_rotary_factor"});  // left over: nothing rotates
  config.refuse("sliding_window", "windows are not supported for this family");
  return attention;
}

void read(ConfigReader& config, ModelSpec& spec) {
  config.spelled("rms_norm_eps", "layer_norm_epsilon");
  read_sizes(config, spec, {.norm_eps = 1e-5});
  config.number_or("norm_eps", spec.norm_eps, spec.norm_eps, spec.norm_eps);
  const std::vector<Block> blocks = read_blocks(config);
  const auto layers = static_cast<int64_t>(blocks.size());

  const Mamba2Spec mamba = read_mamba(config);
  const GqaSpec attention = read_still_attention(config, spec);
  config.only_text("mlp_hidden_act", "relu2");
  const ActivationSpec activation{.kind = Activation::relu_squared};
  config.only_flag("mlp_bias", false);
  const DenseFfn dense{.intermediate = read_width(config, "intermediate_size"),
                       .activation = activation};
  MoeFfn moe;
  if (config.has("n_routed_experts")) moe = read_mixture(config, layers, activation);

  config.ignore("residual_in_fp32");          // the stream is kept in fp32
  config.ignore("rescale_prenorm_residual");  // of initial weights
  config.ignore("num_logits_to_keep");        // of a prompt, on another engine
  config.ignore({"mtp_hybrid_override_pattern", "mtp_layers_block_type"});
  spec.draft_layers = read_draft_layers(config);
  spec.names = {.body = "backbone.",
                .embedding = "embeddings",
                .final_norm = "norm_f",
                .attention = "mixer",
                .attention_norm = "norm",
                .ffn_norm = "norm",
                .dense_block = "mixer",
                .moe_block = "mixer",
                .shared = "shared_experts",
                .other_parts = {"mtp."}};
  if (moe.latent) spec.planned_only = "experts in a latent space are not run yet";
  for (const Block block : blocks) {
    LayerSpec layer{std::monostate{}, std::monostate{}};
    if (block == Block::mamba) layer.attention = mamba;
    if (block == Block::attention) layer.attention = attention;
    if (block == Block::mixture) layer.ffn = moe;
    if (block == Block::dense) layer.ffn = dense;
    if (block == Block::mixture && moe.experts == 0) {
      config.fail("n_routed_experts", "missing, but a layer is a mixture");
    }
    spec.layers.push_back(layer);
  }
}

}  // namespace

const Family nemotron_h_family{"nemotron_h", read};

}  // namespace dure
