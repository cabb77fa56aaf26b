// Layers without attention or without a feed-forward part (Llama-Nemotron) through real ranks: they
// answer as a Llama whose parts are there and add zeros, bit by bit, in every layout.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "cluster/this_machine.h"
#include "group/group.h"
#include "model/inventory.h"
#include "model/load_spec.h"

namespace dure {
namespace {

namespace fs = std::filesystem;

constexpr int layers = 4;
const std::set<int> without_attention = {1, 2};
const std::set<int> without_ffn = {2, 3};  // layer 2 is empty

Json shared_config() {
  return {{"attention_bias", false},
          {"eos_token_id", 0},
          {"hidden_act", "silu"},
          {"hidden_size", 64},
          {"max_position_embeddings", 256},
          {"mlp_bias", false},
          {"num_attention_heads", 4},
          {"num_hidden_layers", layers},
          {"rms_norm_eps", 1e-5},
          {"rope_theta", 10000.0},
          {"tie_word_embeddings", false},
          {"torch_dtype", "bfloat16"},
          {"vocab_size", 131}};
}

Json llama_config() {
  Json config = shared_config();
  config["model_type"] = "llama";
  config["architectures"] = {"LlamaForCausalLM"};
  config["intermediate_size"] = 256;
  config["num_key_value_heads"] = 2;
  return config;
}

Json nas_config() {
  Json config = shared_config();
  config["model_type"] = "nemotron-nas";
  config["architectures"] = {"DeciLMForCausalLM"};
  for (int i = 0; i < layers; ++i) {
    Json attention = {{"no_op", without_attention.contains(i)}, {"n_heads_in_group", 2}};
    Json ffn = {{"no_op", without_ffn.contains(i)}, {"ffn_mult", 2.5}};
    if (without_attention.contains(i)) attention["n_heads_in_group"] = nullptr;
    if (without_ffn.contains(i)) ffn["ffn_mult"] = nullptr;
    config["block_configs"].push_back({{"attention", attention}, {"ffn", ffn}});
  }
  return config;
}

// What a part that is absent elsewhere adds to the stream is zero.
bool adds_nothing(const Weight& weight) {
  return (weight.part == Part::o && without_attention.contains(weight.layer)) ||
         (weight.part == Part::down && without_ffn.contains(weight.layer));
}

// Weights follow from their names, so that models share those that both have.
class Model {
 public:
  Model(const std::string& name, const Json& config)
      : folder_(fs::temp_directory_path() / fmt::format("dure-absent-{}-{}", getpid(), name)) {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "config.json") << config.dump();
    Json header = Json::object();
    std::string data;
    for (const Weight& weight : inventory(spec_from_config(config, "config.json"))) {
      const size_t first = data.size();
      std::mt19937 random(std::hash<std::string>()(weight.name));
      for (int64_t i = 0; i < weight.elements(); ++i) {
        // bf16 of magnitude 2^-4 to 2^-3
        const auto bits = adds_nothing(weight)
                              ? uint16_t{0}
                              : static_cast<uint16_t>((random() & 0x807f) | 0x3d80);
        data.append(reinterpret_cast<const char*>(&bits), sizeof(bits));
      }
      header[weight.name] = {
          {"dtype", "BF16"}, {"shape", weight.shape}, {"data_offsets", {first, data.size()}}};
    }
    const std::string text = header.dump();
    const uint64_t length = text.size();
    std::ofstream file(folder_ / "model.safetensors", std::ios::binary);
    file.write(reinterpret_cast<const char*>(&length), sizeof(length));
    file << text << data;
  }
  ~Model() { fs::remove_all(folder_); }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // Of a prompt in two chunks.
  std::vector<float> logits(const Layout& layout, Compute compute) const {
    GroupOptions options;
    options.start.model = folder_.string();
    options.start.layout = layout;
    options.start.compute = compute;
    options.start.kv_dtype = compute == Compute::fp32 ? DType::f32 : DType::bf16;
    options.start.threads = default_threads(layout.world());
    options.start.pages = 3;
    options.start.states = 1;
    options.start.context = 40;
    options.start.max_batch_tokens = 40;
    BlockingGroup group(options, {});
    std::vector<float> all;
    int position = 0;
    for (const int end : {27, 40}) {
      Step step;
      step.id = static_cast<uint64_t>(end);
      Slice& slice = step.slices.emplace_back();
      slice.start = position;
      for (; position < end; ++position) slice.tokens.push_back(position * position % 131);
      slice.tables = {{0, {0, 1, 2}}};
      slice.length = end;
      slice.want = Want::all_logits;
      const StepDone done = group.run(std::move(step));
      const std::vector<float>& part = done.slices.at(0).trace.value().logits;
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

 private:
  fs::path folder_;
};

TEST(AbsentParts, AnswerAsPartsThatAddZerosInEveryLayout) {
  const Model whole("llama", llama_config());
  const Model absent("nas", nas_config());
  for (const Compute compute : {Compute::fp32, Compute::bf16}) {
    const std::vector<float> expected = whole.logits({}, compute);
    ASSERT_EQ(expected.size(), 40u * 131u);
    EXPECT_NE(expected.front(), expected.back());
    // With pp 4 one stage has no layer that keeps anything, another none that does anything.
    for (const Layout& layout : {Layout{}, Layout{.tp = 2}, Layout{.tp = 4}, Layout{.pp = 2},
                                 Layout{.pp = 4}, Layout{.dp = 2}, Layout{.tp = 2, .pp = 2}}) {
      EXPECT_EQ(absent.logits(layout, compute), expected)
          << to_string(layout) << ", " << to_string(compute);
    }
  }
}

}  // namespace
}  // namespace dure
