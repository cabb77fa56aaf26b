// Nonsense in: one error line, one hint line, exit 2, and no number.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/testing.h"
#include "model/testing.h"

namespace dure {
namespace {

using testing::data;
using testing::dure;
using testing::expect_refused;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::TempFolder;

using Words = std::vector<std::string>;

// The commands that only plan, each with what it needs beside MODEL.
std::vector<Words> planners(const std::string& model) {
  return {{"inspect", model},
          {"fit", model, "--gpu", "h100"},
          {"plan", model, "--gpu", "h100", "--gpus", "8"}};
}

void expect_all_refuse(const std::string& model, const std::string& what, const char* says) {
  for (const Words& words : planners(model)) {
    const Outcome outcome = dure(words);
    expect_refused(outcome, words[0] + ": " + what);
    EXPECT_THAT(outcome.err, HasSubstr(says)) << words[0] << ": " << what;
  }
}

Json mixture() {
  return {{"architectures", {"MixtralForCausalLM"}},
          {"model_type", "mixtral"},
          {"hidden_size", 1024},
          {"intermediate_size", 512},
          {"num_hidden_layers", 2},
          {"vocab_size", 1000},
          {"num_attention_heads", 8},
          {"num_key_value_heads", 8},
          {"num_local_experts", 8},
          {"num_experts_per_tok", 2},
          {"max_position_embeddings", 2048},
          {"tie_word_embeddings", false}};
}

struct Change {
  const char* key;
  Json value;
};

TEST(Nonsense, InOneFieldOfAConfigIsRefusedByItsName) {
  const Change changes[] = {{"num_experts_per_tok", 0},
                            {"num_experts_per_tok", -2},
                            {"num_experts_per_tok", 9},
                            {"num_local_experts", 0},
                            {"num_local_experts", -8},
                            {"num_local_experts", 1e30},
                            {"num_hidden_layers", 0},
                            {"num_hidden_layers", -2},
                            {"num_hidden_layers", 1e30},
                            {"num_hidden_layers", std::numeric_limits<uint64_t>::max()},
                            {"hidden_size", 0},
                            {"hidden_size", -1024},
                            {"hidden_size", 1e30},
                            {"hidden_size", std::numeric_limits<int64_t>::max()},
                            {"hidden_size", 1024.5},
                            {"hidden_size", "1024"},
                            {"hidden_size", nullptr},
                            {"hidden_size", Json::array({1024})},
                            {"hidden_size", true},
                            {"intermediate_size", 0},
                            {"intermediate_size", 1e30},
                            {"vocab_size", 0},
                            {"vocab_size", -1},
                            {"vocab_size", 1e30},
                            {"num_attention_heads", 0},
                            {"num_attention_heads", 7},  // 1024 columns are not 7 heads
                            {"num_attention_heads", 1e30},
                            {"num_key_value_heads", 3},
                            {"num_key_value_heads", 16},
                            {"num_key_value_heads", -8},
                            {"head_dim", 0},
                            {"head_dim", -128},
                            {"head_dim", 1e30},
                            {"max_position_embeddings", 0},
                            {"max_position_embeddings", 1e30},
                            {"model_type", 7},
                            {"model_type", ""},
                            {"architectures", {"MixtralForSequenceClassification"}},
                            {"a_setting_of_nobody", 1}};
  for (const Change& change : changes) {
    const TempFolder folder;
    Json config = mixture();
    config[change.key] = change.value;
    folder.write("config.json", config.dump());
    expect_all_refuse(folder.path().string(), std::string(change.key) + " = " + change.value.dump(),
                      change.key);
  }
  const TempFolder folder;
  folder.write("config.json", mixture().dump());
  EXPECT_EQ(dure({"inspect", folder.path().string()}).status, 0) << "the same without nonsense";
}

TEST(Nonsense, InWidthsThatDisagreeIsRefused) {
  const auto changed = [](const char* name, const char* part, const char* key, const Json& value) {
    Json config = read_json_file(data(std::string("configs/released/") + name + ".json"));
    (part == nullptr ? config : config[part])[key] = value;
    const TempFolder folder;
    folder.write("config.json", config.dump());
    expect_all_refuse(folder.path().string(), name, key);
  };
  changed("deepseek-ai--DeepSeek-V3", nullptr, "qk_head_dim", 100);
  changed("deepseek-ai--DeepSeek-V3", nullptr, "n_group", 7);
  changed("Qwen--Qwen3-VL-8B-Instruct", "vision_config", "out_hidden_size", 1234);
  changed("Qwen--Qwen3-VL-8B-Instruct", nullptr, "hidden_size", 1234);
  changed("moonshotai--Kimi-K2.5", "vision_config", "text_hidden_size", 1234);
  changed("openai--gpt-oss-120b", nullptr, "experts_per_token", 5);
  changed("openai--gpt-oss-120b", nullptr, "layer_types", Json::array({"full_attention"}));
}

TEST(Nonsense, InUnknownFamiliesNamesTheClosestKnownOne) {
  for (const auto& [given, closest] : {std::pair{"mixtrall", "mixtral"},
                                       {"deepseek_v33", "deepseek_v3"},
                                       {"qwen3moe", "qwen3_moe"},
                                       {"gptoss", "gpt_oss"},
                                       {"kimi_k2.5", "kimi_k25"}}) {
    const TempFolder folder;
    Json config = mixture();
    config["model_type"] = given;
    folder.write("config.json", config.dump());
    const std::string hint = std::string("hint: the closest known one is \"") + closest + '"';
    expect_all_refuse(folder.path().string(), given, hint.c_str());
  }
}

std::string random_bytes(size_t count) {
  std::string bytes;
  uint64_t state = 1;
  for (size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005 + 1442695040888963407;
    bytes += static_cast<char>(state >> 56);
  }
  return bytes;
}

TEST(Nonsense, InFilesIsRefusedByTheirName) {
  struct File {
    const char* what;
    std::string bytes;
  };
  const File files[] = {{"empty", ""},
                        {"spaces", "  \n "},
                        {"binary junk", random_bytes(1 << 16)},
                        {"zeros", std::string(4096, '\0')},
                        {"deep lists", std::string(100'000, '[')},
                        {"a list", "[]"},
                        {"null", "null"},
                        {"a number", "7"},
                        {"cut off", mixture().dump().substr(0, 200)},
                        {"text after the end", mixture().dump() + "}"},
                        {"no UTF-8", "{\"model_type\": \"\xFF\xFE\"}"},
                        {"NaN", "{\"model_type\": \"mixtral\", \"hidden_size\": NaN}"},
                        {"too large for a double", "{\"hidden_size\": 1e999}"},
                        {"a key twice", R"({"model_type": "llama", "model_type": "mixtral"})"},
                        {"an object without keys", "{}"}};
  for (const File& file : files) {
    const TempFolder folder;
    folder.write("config.json", file.bytes);
    expect_all_refuse((folder.path() / "config.json").string(), file.what, "config.json");
    expect_all_refuse(folder.path().string(), file.what, "config.json");
  }
}

TEST(Nonsense, InWhatIsNoFileIsRefused) {
  const TempFolder folder;
  expect_all_refuse(folder.path().string(), "an empty folder", "no config.json");
  std::filesystem::create_directory(folder.path() / "config.json");
  expect_all_refuse(folder.path().string(), "a folder named config.json", "not a regular file");
  const std::string pipe = (folder.path() / "pipe.json").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  expect_all_refuse(pipe, "a pipe that nobody writes", "not a regular file");
  expect_all_refuse("/dev/zero", "a device", "/dev/zero");
  expect_all_refuse(std::string(5000, 'a'), "a name that is too long", "aaaa");
}

// All sizes at the most that is read: 2.3e17 parameters, which no sum may wrap at.
TEST(Nonsense, JustWithinWhatIsReadIsCountedToTheLastByte) {
  constexpr int64_t hidden = 1 << 18;
  constexpr int64_t wide = 1 << 21;
  constexpr int64_t layers = 1024;
  constexpr int64_t experts = 128;
  constexpr int64_t heads = 4096;
  constexpr int64_t vocab = 1 << 24;
  Json config = mixture();
  config.update({{"hidden_size", hidden},
                 {"intermediate_size", wide},
                 {"num_hidden_layers", layers},
                 {"num_local_experts", experts},
                 {"num_attention_heads", heads},
                 {"num_key_value_heads", heads},
                 {"head_dim", 4096},
                 {"vocab_size", vocab},
                 {"max_position_embeddings", 1 << 30},
                 {"torch_dtype", "float32"}});
  const TempFolder folder;
  folder.write("config.json", config.dump());
  constexpr int64_t total =
      layers * (4 * hidden * heads * 4096 + experts * (3 * hidden * wide + hidden) + 2 * hidden) +
      2 * vocab * hidden + hidden;
  const Outcome inspected = dure({"inspect", folder.path().string(), "--json"});
  EXPECT_EQ(parse_json(inspected.out, "output")["total_params"], total);
  const Outcome outcome = dure({"fit", folder.path().string(), "--gpu", "h100", "--json"});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  const Json json = parse_json(outcome.out, "output");
  EXPECT_EQ(json["weight_bytes"], 4 * total);
  EXPECT_EQ(json["min_gpus"], (4 * total + 79'999'999'999) / 80'000'000'000);
  EXPECT_EQ(json["weights"], 4 * total);
  EXPECT_LT(json["free"].get<int64_t>(), 0);
  for (const Json& more : json["floor"]["more_gpus"]) {
    EXPECT_EQ(more["usable_bytes"].get<int64_t>() - more["free_after_weights"].get<int64_t>(),
              4 * total);
  }
}

// Refused by its size, not read: neither time nor memory go by what a file claims to be.
TEST(Nonsense, Of200MegabytesIsRefusedUnread) {
  const TempFolder folder;
  const std::string file = (folder.path() / "config.json").string();
  std::ofstream(file) << mixture().dump();
  std::filesystem::resize_file(file, 200'000'000);
  struct rusage before = {};
  getrusage(RUSAGE_SELF, &before);
  expect_all_refuse(file, "200 MB", "larger than the 2097152 bytes");
  struct rusage after = {};
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 50'000) << "KiB";
}

TEST(Nonsense, OnTheCommandLineOfFitIsRefused) {
  const Words lines[] = {{"--gpu", "-80GB"},
                         {"--gpu", "0GB"},
                         {"--gpu", "80XB"},
                         {"--gpu", "80 parsecs"},
                         {"--gpu", ""},
                         {"--gpu", "nan"},
                         {"--gpu", "1e30GB"},
                         {"--gpu", "99999999999999999999GB"},
                         {"--gpu", "h100", "--tp", "-1"},
                         {"--gpu", "h100", "--tp", "0"},
                         {"--gpu", "h100", "--tp", "99999999999"},
                         {"--gpu", "h100", "--pp", "1.5"},
                         {"--gpu", "h100", "--dp", "many"},
                         {"--gpu", "h100", "--ep", "-8"},
                         {"--gpu", "h100", "--nodes", "0"},
                         {"--gpu", "h100", "--ranks-per-node", "-8"},
                         {"--gpu", "h100", "--context", "0"},
                         {"--gpu", "h100", "--context", "-4096"},
                         {"--gpu", "h100", "--context", "4096 pages"},
                         {"--gpu", "h100", "--context", "1000000000000000000000000000000"},
                         {"--gpu", "h100", "--sequences", "0"},
                         {"--gpu", "h100", "--sequences", "-1"},
                         {"--gpu", "h100", "--sequences", "1T", "--context", "1T"},
                         {"--gpu", "h100", "--max-batch-tokens", "0"},
                         {"--gpu", "h100", "--max-batch-tokens", "1T"},
                         {"--gpu", "h100", "--utilization", "0"},
                         {"--gpu", "h100", "--utilization", "-0.5"},
                         {"--gpu", "h100", "--utilization", "90"},
                         {"--gpu", "h100", "--weights", "fp3"},
                         {"--gpu", "h100", "--weights", "-8"},
                         {"--gpu", "h100", "--kv-dtype", "int3"}};
  for (const Words& line : lines) {
    Words words = {"fit", "llama-3.1-8b"};
    words.insert(words.end(), line.begin(), line.end());
    expect_refused(dure(words), ::testing::PrintToString(line));
  }
  for (const char* size : {"0", "0T", "-1T", "1X", "1TB", "1e30", "1000000000000000000T",
                           "1000000000000000000000000000000", "nanT"}) {
    expect_refused(dure({"fit", size, "--gpu", "80GB"}), size);
  }
}

TEST(Nonsense, OnTheCommandLineOfPlanIsRefused) {
  const Words lines[] = {{"--gpus", "0"},
                         {"--gpus", "-8"},
                         {"--gpus", "1000000000000000000000000000000"},
                         {"--gpus", "8", "--gpus-per-node", "0"},
                         {"--gpus", "8", "--input", "0"},
                         {"--gpus", "8", "--input", "-5"},
                         {"--gpus", "8", "--output", "1000000000000000000000000000000"},
                         {"--gpus", "8", "--output", "five"},
                         {"--gpus", "8", "--concurrency", "0"},
                         {"--gpus", "8", "--concurrency", "-1"},
                         {"--gpus", "8", "--ttft", "2 parsecs"},
                         {"--gpus", "8", "--tpot", "-30ms"},
                         {"--gpus", "8", "--weights", "fp3"},
                         {"--gpus", "8", "--utilization", "1.5"}};
  for (const Words& line : lines) {
    Words words = {"plan", "llama-3.1-8b", "--gpu", "h100"};
    words.insert(words.end(), line.begin(), line.end());
    expect_refused(dure(words), ::testing::PrintToString(line));
  }
  expect_refused(dure({"plan", "llama-3.1-8b", "--gpu", "h100"}), "no --gpus");
  expect_refused(dure({"plan", "1T", "--gpu", "h100", "--gpus", "8"}), "a size alone");
}

}  // namespace
}  // namespace dure
