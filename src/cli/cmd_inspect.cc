// dure inspect MODEL: what a model is, counted from the same inventory that ranks load.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/model_argument.h"
#include "cli/table.h"
#include "cost/memory.h"
#include "cost/shard.h"
#include "gguf/gguf_model.h"
#include "model/checkpoint.h"
#include "model/presets.h"

namespace dure {
namespace {

struct Options {
  std::string model;
  bool weights = false;
  bool json = false;
};

struct Facts {
  ModelSpec spec;
  std::vector<Weight> weights;
  bool from_files = false;  // types are those of the files, not config.json's
  int64_t total = 0;
  int64_t active = 0;
  int64_t embedding = 0;  // parameters of the table that tokens are looked up in
  int64_t head = 0;       // of the output's; 0 where it is the same table
  int64_t weight_bytes = 0;
  std::map<std::string, int64_t> dtypes;  // parameters of each type
  const MoeFfn* moe = nullptr;            // of the first mixture, null if dense
  int64_t moe_layers = 0;
};

bool has_weights(const std::filesystem::path& model) {
  std::error_code status;
  return gguf_of(model) || std::filesystem::exists(model / "model.safetensors", status) ||
         std::filesystem::exists(model / "model.safetensors.index.json", status);
}

std::string_view stored_type(const Weight& weight) {
  return weight.blocks ? to_string(*weight.blocks) : to_string(weight.dtype);
}

std::string_view to_string(Split split) {
  switch (split) {
    case Split::replicated:
      return "replicated";
    case Split::vocabulary:
      return "vocabulary";
    case Split::q_heads:
    case Split::q_heads_input:
    case Split::one_head:
      return "query heads";
    case Split::kv_heads:
      return "kv heads";
    case Split::columns:
      return "columns";
    case Split::rows:
      return "rows";
  }
  return "?";
}

void gather(Facts& facts, const std::string& model) {
  facts.spec = planned_spec(model);
  facts.active = active_parameters(facts.spec);
  const bool runs = facts.spec.quantization.empty() && facts.spec.planned_only.empty();
  facts.from_files = runs && has_weights(model);
  facts.weights = facts.from_files ? bind_inventory(facts.spec, *CheckpointReader::open(model))
                                   : inventory(facts.spec);
  for (const Weight& weight : facts.weights) {
    facts.total += weight.elements();
    facts.weight_bytes += weight.bytes();
    if (weight.part == Part::embedding) facts.embedding += weight.elements();
    if (weight.part == Part::lm_head) facts.head += weight.elements();
    facts.dtypes[std::string(stored_type(weight))] += weight.elements();
  }
  for (const LayerSpec& layer : facts.spec.layers) {
    const auto* moe = std::get_if<MoeFfn>(&layer.ffn);
    if (moe == nullptr) continue;
    ++facts.moe_layers;
    if (facts.moe == nullptr) facts.moe = moe;
  }
}

double sparsity_multiplier(const Facts& facts) {
  if (facts.moe == nullptr) return 1.0;
  return static_cast<double>(facts.moe->experts) / static_cast<double>(facts.moe->top_k);
}

int64_t windowed_layers(const ModelSpec& spec) {
  int64_t count = 0;
  for (const LayerSpec& layer : spec.layers) {
    count += window_of(layer.attention).has_value() ? 1 : 0;
  }
  return count;
}

// Of a head's q and k.
int64_t head_dim(const AttentionSpec& attention) {
  if (const auto* gqa = std::get_if<GqaSpec>(&attention)) return gqa->head_dim;
  if (const auto* mla = std::get_if<MlaSpec>(&attention)) return mla->nope_dim + mla->rope_dim;
  if (const auto* compressed = std::get_if<CompressedSpec>(&attention)) return compressed->head_dim;
  if (const auto* delta = std::get_if<DeltaNetSpec>(&attention)) return delta->key_dim;
  if (const auto* mamba = std::get_if<Mamba2Spec>(&attention)) return mamba->state_dim;
  return 0;
}

// Of the first layer that attends; where none does, of the first.
const AttentionSpec& first_attention(const ModelSpec& spec) {
  for (const LayerSpec& layer : spec.layers) {
    if (cached_elements(layer.attention, 1, 0) > 0) return layer.attention;
  }
  return spec.layers[0].attention;
}

std::string describe(const GqaSpec& gqa) {
  return fmt::format("{} query heads, {} kv heads, head size {}", gqa.heads, gqa.kv_heads,
                     gqa.head_dim);
}

std::string describe(const MlaSpec& mla) {
  return fmt::format("{} query heads over latent rows of {} + {}", mla.heads, mla.kv_rank,
                     mla.rope_dim);
}

std::string describe(const DeltaNetSpec& delta) {
  return fmt::format("delta nets of {} heads, states of {} by {}", delta.heads, delta.key_dim,
                     delta.value_dim);
}

std::string describe(const Mamba2Spec& mamba) {
  return fmt::format("Mamba-2 of {} heads, states of {} by {}", mamba.heads, mamba.state_dim,
                     mamba.head_dim);
}

std::string describe(const CompressedSpec& compressed) {
  return fmt::format("{} query heads over windows of {} and compressed keys of {}",
                     compressed.heads, compressed.window, compressed.head_dim);
}

std::string describe(std::monostate) {
  return "none";
}

// How many layers keep a state instead of a cache.
int64_t recurrent_layers(const ModelSpec& spec) {
  int64_t count = 0;
  for (const LayerSpec& layer : spec.layers) {
    const bool delta = std::holds_alternative<DeltaNetSpec>(layer.attention);
    count += delta || std::holds_alternative<Mamba2Spec>(layer.attention) ? 1 : 0;
  }
  return count;
}

Json to_json(const Facts& facts, bool list_weights) {
  const ModelSpec& spec = facts.spec;
  const AttentionSpec& attention = first_attention(spec);
  Json json = {
      {"family", spec.family},
      {"layers", spec.layers.size()},
      {"hidden", spec.hidden},
      {"vocab", spec.vocab},
      {"heads", query_heads(attention)},
      {"kv_heads", kv_heads(attention)},
      {"head_dim", head_dim(attention)},
      {"latent_attention", std::holds_alternative<MlaSpec>(attention)},
      {"windowed_layers", windowed_layers(spec)},
      {"recurrent_layers", recurrent_layers(spec)},
      {"total_params", facts.total},
      {"active_params", facts.active},
      {"embedding_params", facts.embedding},
      {"head_params", facts.head},
      {"moe_layers", facts.moe_layers},
      {"experts", facts.moe == nullptr ? 0 : facts.moe->experts},
      {"top_k", facts.moe == nullptr ? 0 : facts.moe->top_k},
      {"sparsity_multiplier", sparsity_multiplier(facts)},
      {"dtype_mix", facts.dtypes},
      {"quantization", spec.quantization},
      {"runs", spec.planned_only.empty()},
      {"planned_only", spec.planned_only},
      {"weight_bytes", facts.weight_bytes},
      {"kv_bytes_per_token", kv_bytes_per_token(spec, DType::bf16)},
      {"context", spec.context},
      {"tied_embeddings", spec.tied_embeddings},
      {"eos_ids", spec.eos_ids},
      {"checked_against_files", facts.from_files},
  };
  if (list_weights) {
    Json list = Json::array();
    for (const Weight& weight : facts.weights) {
      list.push_back({{"name", weight.name},
                      {"shape", weight.shape},
                      {"dtype", stored_type(weight)},
                      {"bytes", weight.bytes()},
                      {"split", to_string(weight.split)}});
    }
    json["weights"] = list;
  }
  return json;
}

// Publishers differ in whether they count the tables of tokens as active.
std::string active_line(const Facts& facts) {
  if (facts.moe == nullptr) return format_count(facts.active);
  const std::string without = format_count(facts.active - facts.embedding);
  if (facts.head == 0) {
    return fmt::format("{}; without embedding {}", format_count(facts.active), without);
  }
  return fmt::format("{}; without embedding {}, without head too {}", format_count(facts.active),
                     without, format_count(facts.active - facts.embedding - facts.head));
}

void print_facts(const Facts& facts) {
  const ModelSpec& spec = facts.spec;
  Table table({{"", Table::Align::left}, {"", Table::Align::left}});
  table.add({"family", spec.family});
  table.add({"layers", fmt::format("{} of width {}", spec.layers.size(), spec.hidden)});
  table.add({"attention",
             std::visit([](const auto& kind) { return describe(kind); }, first_attention(spec))});
  if (windowed_layers(spec) > 0) {
    table.add({"windowed", fmt::format("{} layers", windowed_layers(spec))});
  }
  if (recurrent_layers(spec) > 0) {
    table.add({"recurrent", fmt::format("{} layers", recurrent_layers(spec))});
  }
  table.add({"total parameters", format_count(facts.total)});
  table.add({"active parameters", active_line(facts)});
  if (facts.moe != nullptr) {
    table.add(
        {"experts", fmt::format("{} in each of {} layers, {} active: sparsity multiplier {:g}",
                                facts.moe->experts, facts.moe_layers, facts.moe->top_k,
                                sparsity_multiplier(facts))});
  }
  std::vector<std::string> mix;
  for (const auto& [dtype, parameters] : facts.dtypes) {
    mix.push_back(fmt::format("{} {}", dtype, format_count(parameters)));
  }
  table.add({"types",
             fmt::format("{} ({})", fmt::join(mix, ", "),
                         facts.from_files ? "as the files hold them" : "as config.json states")});
  if (!spec.planned_only.empty()) {
    table.add({"planned only", spec.planned_only});
  } else {
    table.add({"engine", "runs it"});
  }
  if (!spec.quantization.empty()) {
    table.add({"quantization", spec.quantization + ": counted unquantized here"});
  }
  table.add({"weights", fmt::format("{} ({} bytes)", format_bytes(facts.weight_bytes),
                                    format_count(facts.weight_bytes))});
  table.add({"cache per token",
             fmt::format("{} bytes in bf16", format_count(kv_bytes_per_token(spec, DType::bf16)))});
  table.add({"context", format_count(spec.context) + " tokens"});
  fmt::print("{}", table.text());
}

void print_weights(const Facts& facts) {
  Table table({{"weight", Table::Align::left},
               {"shape", Table::Align::left},
               {"type", Table::Align::left},
               {"bytes", Table::Align::right},
               {"split by", Table::Align::left}});
  for (const Weight& weight : facts.weights) {
    table.add({weight.name, fmt::format("[{}]", fmt::join(weight.shape, ", ")),
               std::string(stored_type(weight)), format_count(weight.bytes()),
               std::string(to_string(weight.split))});
  }
  fmt::print("\n{}", table.text());
}

int run(const Options& options) {
  if (parameters_if_size(options.model)) {
    throw_bad_input(
        fmt::format("{}: a size alone has nothing to inspect", options.model),
        fmt::format("`dure fit {} --weights bf16 --gpu 80GB` counts its GPUs", options.model));
  }
  Facts facts;
  gather(facts, options.model);
  if (options.json) {
    fmt::print("{}\n", to_json(facts, options.weights).dump(2));
    return 0;
  }
  print_facts(facts);
  if (options.weights) print_weights(facts);
  return 0;
}

RunCommand declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("MODEL", options->model,
                 "a Hugging Face folder, a config.json, a GGUF file or a preset")
      ->required();
  app.add_flag("--weights", options->weights, "list every tensor");
  app.add_flag("--json", options->json, "machine-readable");
  app.footer(fmt::format("Presets: {}\n\nExample: dure inspect deepseek-v3 --json",
                         fmt::join(preset_names(), ", ")));
  return [options] { return run(*options); };
}

const RegisterCommand registered({"inspect", "what a model is: weights, experts, cache", declare});

}  // namespace
}  // namespace dure
