#include "cli/command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/serve_setup.h"
#include "cli/testing.h"
#include "model/testing.h"

namespace dure {
namespace {

using ::testing::ContainsRegex;
using testing::data;
using testing::dure;
using testing::expect_refused;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using ::testing::StartsWith;
using testing::TempFolder;

TEST(CommandLine, HelpFitsOneScreen) {
  const Outcome outcome = dure({"--help"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_LT(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 24);
  EXPECT_THAT(dure({"fit", "--help"}).out, HasSubstr("Example: dure fit"));
}

TEST(CommandLine, RefusesWhatItDoesNotKnow) {
  expect_refused(dure({"inspct", "x"}), "unknown subcommand");
  EXPECT_THAT(dure({"inspct"}).err, HasSubstr("did you mean `dure inspect`?"));
  expect_refused(dure({}), "no subcommand");
  expect_refused(dure({"inspect"}), "no MODEL");
  expect_refused(dure({"inspect", "x", "--bogus"}), "unknown flag");
  expect_refused(dure({"fit", data("models/llama"), "--gpu", "h100", "--tp", "two"}),
                 "not a number");
  expect_refused(dure({"fit", data("models/llama"), "--gpu", "h100", "--tp", "0"}), "tp 0");
  expect_refused(dure({"fit", data("models/llama"), "--gpu", "h101"}), "unknown GPU");
  expect_refused(dure({"fit", data("models/llama"), "--gpu", "h100", "--weights", "fp7"}), "fp7");
  expect_refused(dure({"fit", data("models/llama"), "--gpu", "h100", "--context", "1e9"}), "1e9");
}

TEST(CommandLine, RefusesWhatIsNotANumberInEveryRange) {
  for (const char* number : {"nan", "-nan", "inf", "-0.1", "1e99", "0.5x", ""}) {
    expect_refused(dure({"fit", "1T", "--gpu", "h100", "--utilization", number}), number);
    expect_refused(dure({"serve", data("models/llama"), "--deadline", number}), number);
    expect_refused(dure({"generate", data("models/llama"), "--chat", "a", "--top-p", number}),
                   number);
  }
  expect_refused(dure({"verify", data("models/llama"), "--tolerance", "nan"}), "tolerance");
  expect_refused(dure({"serve", data("models/llama"), "--served-model-name", ""}), "no name");
}

TEST(CommandLine, RefusesARecordOfAnotherModel) {
  const Outcome other = dure(
      {"verify", data("models/llama"), "--expected", data("models/qwen3/expected.safetensors")});
  expect_refused(other, "another model's record");
  EXPECT_THAT(other.err, HasSubstr("the record is of another model"));
  expect_refused(dure({"verify", data("models/llama"), "--expected", data("models")}), "a folder");
}

TEST(CommandLine, ShowsControlCharactersOfNamesInsteadOfObeyingThem) {
  const Outcome outcome = dure({"inspect", "no\nsuch\033[31m\xC2\x9B model é"});
  expect_refused(outcome, "control characters");
  EXPECT_THAT(outcome.err, HasSubstr("no\\nsuch\\x1b[31m\\x9b model é"));
}

TEST(CommandLine, StandsAStandardErrorThatCannotBeWritten) {
  const int kept = dup(STDERR_FILENO);
  const int full = open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  std::fflush(stderr);
  dup2(full, STDERR_FILENO);
  const char* const argv[] = {"dure", "inspect", "nowhere"};
  const int status = run_command_line(3, argv);
  dup2(kept, STDERR_FILENO);
  close(full);
  close(kept);
  EXPECT_EQ(status, 2);
}

TEST(CommandLine, ColoursNothingThatIsNotATerminal) {
  EXPECT_THAT(dure({"nonsense"}).err, Not(HasSubstr("\033")));
}

TEST(Inspect, PrintsWhatTheConfigHolds) {
  const Outcome outcome = dure({"inspect", data("configs/field-cases/mixtral-8x7b"), "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json json = parse_json(outcome.out, "output");
  EXPECT_EQ(json["family"], "mixtral");
  EXPECT_EQ(json["layers"], 32);
  EXPECT_EQ(json["total_params"], 46702792704);
  EXPECT_EQ(json["active_params"], 12879925248);
  EXPECT_EQ(json["sparsity_multiplier"], 4);
  EXPECT_EQ(json["experts"], 8);
  EXPECT_EQ(json["top_k"], 2);
  EXPECT_EQ(json["weight_bytes"], 2 * 46702792704);
  EXPECT_EQ(json["kv_bytes_per_token"], 32 * 2 * 8 * 128 * 2);
  EXPECT_EQ(json["context"], 32768);
}

TEST(Inspect, DividesAllExpertsByTheActiveOnes) {
  const TempFolder folder;
  folder.write("config.json", R"({"architectures": ["MixtralForCausalLM"], "model_type": "mixtral",
    "hidden_size": 1024, "intermediate_size": 512, "num_hidden_layers": 2, "vocab_size": 1000,
    "num_attention_heads": 8, "num_key_value_heads": 8, "num_local_experts": 64,
    "num_experts_per_tok": 2, "max_position_embeddings": 2048, "tie_word_embeddings": false})");
  const Outcome outcome = dure({"inspect", folder.path().string(), "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(parse_json(outcome.out, "output")["sparsity_multiplier"], 32);
}

TEST(Inspect, SaysWhichOfTheActiveParametersAreTablesOfTokens) {
  const Outcome outcome = dure({"inspect", "gpt-oss-120b", "--json"});
  const Json json = parse_json(outcome.out, "output");
  EXPECT_EQ(json["active_params"], 5711982912);
  EXPECT_EQ(json["embedding_params"], 201088 * 2880);
  EXPECT_EQ(json["head_params"], 201088 * 2880);
  EXPECT_THAT(dure({"inspect", "gpt-oss-120b"}).out, HasSubstr("without embedding 5,132,849,472"));
  EXPECT_EQ(parse_json(dure({"inspect", "qwen3-0.6b", "--json"}).out, "")["head_params"], 0);
}

TEST(Inspect, ListsEveryTensorOfACheckpointWithItsStoredType) {
  const Outcome outcome = dure({"inspect", data("models/qwen3-yarn-f32"), "--weights", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json json = parse_json(outcome.out, "output");
  EXPECT_TRUE(json["checked_against_files"]);
  int64_t bytes = 0;
  for (const Json& weight : json["weights"]) {
    EXPECT_EQ(weight["dtype"], "f32");
    bytes += weight["bytes"].get<int64_t>();
  }
  EXPECT_EQ(bytes, json["weight_bytes"].get<int64_t>());
  EXPECT_THAT(dure({"inspect", data("models/llama"), "--weights"}).out,
              ContainsRegex("model\\.norm\\.weight +\\[64\\] +bf16 +128 +replicated"));
}

TEST(Inspect, RefusesMalformedConfigs) {
  for (const char* name : {"nan", "comment", "array", "empty", "deep", "duplicate-key"}) {
    const Outcome outcome = dure({"inspect", data(std::string("configs/field-cases/") + name)});
    expect_refused(outcome, name);
    EXPECT_THAT(outcome.err, HasSubstr("config.json")) << name;
  }
  expect_refused(dure({"inspect", data("safetensors/missing-shard")}), "missing shard");
  expect_refused(dure({"inspect", data("nowhere")}), "no folder");
}

TEST(Inspect, SaysThatAnEncoderDoesNotGenerate) {
  const TempFolder folder;
  folder.write("config.json", R"({"architectures": ["BertModel"],
    "model_type": "bert", "hidden_size": 384, "num_hidden_layers": 12, "num_attention_heads": 12,
    "intermediate_size": 1536, "vocab_size": 30522, "max_position_embeddings": 512})");
  for (const char* command : {"inspect", "fit"}) {
    std::vector<std::string> arguments = {command, folder.path().string()};
    if (std::string(command) == "fit") arguments.insert(arguments.end(), {"--gpu", "h100"});
    const Outcome outcome = dure(arguments);
    expect_refused(outcome, command);
    EXPECT_THAT(outcome.err, HasSubstr("unknown family \"bert\"")) << command;
  }
}

TEST(CommandLine, PlansPresetsAndSaysThatTheyHaveNoWeights) {
  EXPECT_EQ(dure({"inspect", "deepseek-v3"}).status, 0);
  EXPECT_EQ(dure({"fit", "gpt-oss-20b", "--gpu", "h100"}).status, 0);
  EXPECT_THAT(dure({"inspect", "--help"}).out, HasSubstr("gpt-moe-1.8t"));
  for (const std::vector<std::string>& command : {std::vector<std::string>{"serve", "kimi-k2"},
                                                  {"generate", "kimi-k2", "--chat", "a"},
                                                  {"verify", "kimi-k2"},
                                                  {"bench-local", "kimi-k2"}}) {
    const Outcome outcome = dure(command);
    expect_refused(outcome, command[0]);
    EXPECT_THAT(outcome.err, HasSubstr("kimi-k2: a preset has no weights")) << command[0];
  }
}

TEST(Serve, RefusesIncompleteFoldersNamingWhatIsMissing) {
  const Outcome shard = dure({"serve", data("safetensors/missing-shard")});
  expect_refused(shard, "missing shard");
  EXPECT_THAT(shard.err, HasSubstr("model-00002-of-00002.safetensors: missing\n"));
  EXPECT_THAT(shard.err, HasSubstr("hint: incomplete download?"));

  const TempFolder folder;
  expect_refused(dure({"serve", folder.path().string()}), "no config.json");
  EXPECT_THAT(dure({"serve", folder.path().string()}).err, HasSubstr("no config.json"));
  std::filesystem::copy_file(data("models/llama/config.json"), folder.path() / "config.json");
  const Outcome bare = dure({"serve", folder.path().string()});
  expect_refused(bare, "no weights");
  EXPECT_THAT(bare.err, HasSubstr("looked for model.safetensors"));
  std::filesystem::create_directory(folder.path() / "model.safetensors");
  const Outcome named = dure({"serve", folder.path().string()});
  expect_refused(named, "a folder named like weights");
  EXPECT_THAT(named.err, HasSubstr("model.safetensors: not a regular file"));

  const auto cache = folder.path() / "models--owner--name";
  std::filesystem::create_directories(cache / "snapshots" / "0123abcd");
  const Outcome hub = dure({"serve", cache.string()});
  expect_refused(hub, "a hub cache folder");
  EXPECT_THAT(hub.err, HasSubstr("hint: use " + (cache / "snapshots/0123abcd").string()));
}

TEST(Serve, RefusesFilesThatCannotBeReachedByName) {
  for (const std::string file :
       {"config.json", "generation_config.json", "hf_quant_config.json", "model.safetensors",
        "tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "chat_template.json"}) {
    const TempFolder folder;
    std::filesystem::copy(data("models/llama"), folder.path());
    std::filesystem::remove(folder.path() / file);
    std::filesystem::create_symlink(file, folder.path() / file);  // to itself
    const Outcome outcome = dure({"serve", folder.path().string()});
    expect_refused(outcome, file);
    EXPECT_THAT(outcome.err, HasSubstr((folder.path() / file).string() + ": "));
    if (file == "tokenizer.json") {
      expect_refused(dure({"generate", folder.path().string(), "--prompt-ids", "1"}), file);
    }
  }
}

// What the sum of the ranks' caches may take holds for the states of sequences too.
TEST(Serve, CountsRecurrentStatesWithinTheMemoryOfTheCache) {
  const TempFolder folder;
  std::filesystem::copy(data("models/qwen3-next"), folder.path());
  std::filesystem::copy_file(data("models/llama/tokenizer.json"), folder.path() / "tokenizer.json");
  const auto cache = [&](int sequences) {
    ServeFlags flags;
    flags.run.model = folder.path();
    flags.run.layout.layout = {.tp = 2};
    flags.kv_memory = "16MiB";
    flags.max_sequences = sequences;
    int64_t bytes = 0;
    for (const RankMemory& rank : prepare(flags).memory) bytes += rank.kv;
    return bytes;
  };
  for (const int sequences : {1, 64, 256}) {
    EXPECT_LE(cache(sequences), 16 << 20) << sequences;
    EXPECT_GT(cache(sequences), (16 << 20) - (64 << 10)) << sequences;
  }
  const Outcome outcome = dure({"serve", folder.path().string(), "--kv-memory", "64KiB"});
  expect_refused(outcome, "less than the states");
  EXPECT_THAT(outcome.err, HasSubstr("the states of 256 sequences take"));
}

TEST(Fit, CountsTheFloorOfASizeAlone) {
  const auto gpus = [](const char* size, const char* weights, const char* gpu) {
    const Outcome outcome = dure({"fit", size, "--weights", weights, "--gpu", gpu, "--json"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return parse_json(outcome.out, "output")["min_gpus"].get<int64_t>();
  };
  EXPECT_EQ(gpus("1T", "bf16", "80GB"), 25);
  EXPECT_EQ(gpus("1T", "bf16", "h100"), 25);
  EXPECT_EQ(gpus("1T", "bf16", "141GB"), 15);
  EXPECT_EQ(gpus("1T", "bf16", "h200"), 15);
  EXPECT_EQ(gpus("1.8T", "fp4", "192GB"), 5);
  EXPECT_EQ(gpus("1.8T", "fp4", "b200"), 5);
}

TEST(Fit, PrintsTheArithmeticOfASizeAsItIsCheckedByHand) {
  const std::string text = dure({"fit", "1T", "--gpu", "80GB"}).out;
  EXPECT_THAT(text, HasSubstr("bf16     1,000,000,000,000 × 2 bytes = 2 TB; ÷ 80 GB = 25 "));
  EXPECT_THAT(text, HasSubstr("fp8      1,000,000,000,000 × 1 byte = 1 TB; ÷ 80 GB = 12.5 "));
  EXPECT_THAT(text, HasSubstr("fp4      1,000,000,000,000 × 0.5 bytes = 500 GB; ÷ 80 GB = 6.25 "));
  const Json json = parse_json(dure({"fit", "671B", "--gpu", "h200", "--json"}).out, "output");
  ASSERT_EQ(json["floor_table"].size(), 3);
  EXPECT_EQ(json["min_gpus"], 10);
  EXPECT_EQ(json["floor_table"][0]["weight_bytes"], 1342000000000);
  EXPECT_EQ(json["floor_table"][1]["min_gpus"], 5);
  EXPECT_EQ(json["floor_table"][2]["min_gpus"], 3);
  expect_refused(dure({"fit", "4000000T", "--weights", "f32", "--gpu", "80GB"}), "too many bytes");
}

TEST(Fit, SaysWhatTheFloorLeavesForTheCache) {
  const Outcome outcome =
      dure({"fit", "deepseek-v3", "--gpu", "h200", "--tp", "8", "--context", "4096", "--json"});
  const Json floor = parse_json(outcome.out, "output")["floor"];
  EXPECT_EQ(floor["gpus"], 5);
  EXPECT_LT(floor["free_after_weights"].get<int64_t>(), 0);
  EXPECT_EQ(floor["kv_tokens"], 0);
  EXPECT_EQ(floor["sequences"], 0);
  ASSERT_EQ(floor["more_gpus"].size(), 2);
  for (const Json& more : floor["more_gpus"]) {
    // 256 pages of 16 tokens of 61 latent rows of 576 bf16 values
    EXPECT_EQ(more["sequences"], more["free_after_weights"].get<int64_t>() / (4096 * 70272));
    EXPECT_EQ(more["kv_tokens"].get<int64_t>() / 16,
              more["free_after_weights"].get<int64_t>() / (16 * 70272));
  }
  EXPECT_THAT(dure({"fit", "deepseek-v3", "--gpu", "h200", "--tp", "8"}).out,
              HasSubstr("Why the floor is no deployment"));
}

TEST(Fit, AnswersNoWithTheNearestLayoutThatFits) {
  const Outcome outcome = dure({"fit", data("configs/released/Qwen--Qwen3-235B-A22B.json"), "--gpu",
                                "h100", "--tp", "4", "--json"});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  const Json json = parse_json(outcome.out, "output");
  EXPECT_EQ(json["fits"], false);
  EXPECT_LT(json["free"].get<int64_t>(), 0);
  EXPECT_GE(json["nearest"]["world"].get<int>(), json["min_gpus"].get<int>());
  const Json& nearest = json["nearest"];
  const auto size = [&](const char* key) { return nearest[key].dump(); };
  EXPECT_EQ(dure({"fit", data("configs/released/Qwen--Qwen3-235B-A22B.json"), "--gpu", "h100",
                  "--tp", size("tp"), "--pp", size("pp"), "--dp", size("dp"), "--ep", size("ep")})
                .status,
            0);
}

TEST(Fit, PrintsEveryNumberOfARankAndWhatWasAssumed) {
  const Outcome outcome =
      dure({"fit", data("configs/field-cases/moe30-fp8"), "--gpu", "h100", "--tp", "8", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json json = parse_json(outcome.out, "output");
  ASSERT_EQ(json["ranks"].size(), 8);
  for (const Json& rank : json["ranks"]) {
    int64_t sum = 0;
    for (const char* kind :
         {"weights", "padding", "kv", "activation", "communication", "overhead", "free"}) {
      sum += rank[kind].get<int64_t>();
    }
    EXPECT_EQ(sum, static_cast<int64_t>(json["usable_bytes"].get<double>() * 0.9));
    EXPECT_EQ(json["gpu_bytes"], json["usable_bytes"]);
  }
  for (const char* key : {"kv_dtype", "utilization", "overhead", "engine", "weights", "compute"}) {
    EXPECT_TRUE(json["assumptions"].contains(key)) << key;
  }
  EXPECT_GT(json["kv_tokens"].get<int64_t>(), 0);
}

TEST(Fit, TakesAnEnginesMemoryWhereOneIsNamed) {
  const auto fit = [](std::vector<std::string> more) {
    std::vector<std::string> arguments = {
        "fit",           data("configs/released/meta-llama--Meta-Llama-3.1-8B.json"),
        "--gpu",         "h100",
        "--utilization", "0.95",
        "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = dure(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return parse_json(outcome.out, "output");
  };
  const Json own = fit({});
  EXPECT_EQ(own["assumptions"]["engine"], "dure");
  EXPECT_EQ(own["cuda_graphs"], 0);
  EXPECT_TRUE(own["engine_prints"].is_null());

  const Json vllm = fit({"--engine", "vllm", "--engine-version", "0.19.0"});
  EXPECT_EQ(vllm["assumptions"]["engine"], "vllm");
  EXPECT_EQ(vllm["assumptions"]["engine_version"], "0.19.0");
  EXPECT_EQ(vllm["assumptions"]["overheads"], "vLLM 0.19.0 (overheads as of 0.19)");
  // As that version printed on such a GPU: 58.11 GiB, 476,016 tokens.
  EXPECT_NEAR(vllm["engine_prints"]["kv_tokens"].get<double>(), 476'016, 0.002 * 476'016);
  EXPECT_NEAR(vllm["kv_tokens"].get<double>(), 476'016, 0.002 * 476'016);
  EXPECT_GT(vllm["cuda_graphs"].get<int64_t>(), 0);
  int64_t sum = -vllm["outside_budget"].get<int64_t>();
  for (const char* kind : {"weights", "padding", "kv", "activation", "communication", "overhead",
                           "cuda_graphs", "free"}) {
    sum += vllm[kind].get<int64_t>();
  }
  EXPECT_EQ(sum, static_cast<int64_t>(vllm["usable_bytes"].get<double>() * 0.95));
  EXPECT_LT(fit({"--engine", "vllm", "--engine-version", "0.11.0"})["kv_tokens"],
            vllm["kv_tokens"]);
}

TEST(Fit, SaysWhatAnEngineWouldPrintAndWhereThatIsNotKnown) {
  const auto text = [](const char* config, const char* engine) {
    return dure({"fit", data(std::string("configs/released/") + config), "--gpu", "b200", "--tp",
                 "4", "--engine", engine})
        .out;
  };
  EXPECT_THAT(text("Qwen--Qwen3-32B.json", "vllm"),
              HasSubstr("vLLM 0.19.0 (overheads as of 0.19) would print"));
  EXPECT_THAT(text("Qwen--Qwen3-32B.json", "trtllm"), HasSubstr("by its rules, not measured"));
  EXPECT_THAT(text("deepseek-ai--DeepSeek-V4-Flash.json", "vllm"), HasSubstr("is not known"));
  EXPECT_THAT(dure({"fit", data("configs/released/Qwen--Qwen3-32B.json"), "--gpu", "b200"}).out,
              HasSubstr("assumed: engine dure (another's by --engine vllm, sglang or trtllm)"));
}

TEST(Fit, RefusesEnginesThatItDoesNotKnow) {
  const std::string config = data("configs/released/Qwen--Qwen3-8B.json");
  expect_refused(dure({"fit", config, "--gpu", "h100", "--engine", "vlm"}), "vlm");
  expect_refused(
      dure({"fit", config, "--gpu", "h100", "--engine", "vllm", "--engine-version", "latest"}),
      "latest");
  expect_refused(dure({"fit", config, "--gpu", "h100", "--engine-version", "0.19"}), "no engine");
  expect_refused(dure({"fit", config, "--gpu", "cpu", "--engine", "vllm"}), "cpu");
}

TEST(Fit, CountsAMixtureByAllItsExperts) {
  const Outcome outcome = dure({"fit", data("configs/released/Qwen--Qwen3.5-122B-A10B.json"),
                                "--weights", "q4_k", "--gpu", "48GB", "--json"});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  const Json json = parse_json(outcome.out, "output");
  EXPECT_EQ(json["fits"], false);
  EXPECT_NEAR(json["weight_bytes"].get<double>(), 72.6e9, 0.01 * 72.6e9);
  EXPECT_EQ(json["min_gpus"], 2);
}

TEST(Fit, CountsACacheOfFp8) {
  const auto kv = [](const std::string& type) {
    const Outcome outcome =
        dure({"fit", data("configs/released/deepseek-ai--DeepSeek-V3.json"), "--gpu", "h200",
              "--tp", "8", "--context", "1024", "--kv-type", type, "--json"});
    return parse_json(outcome.out, "output")["kv"].get<int64_t>();
  };
  EXPECT_EQ(kv("bf16"), 1024 * 70272);
  EXPECT_EQ(kv("fp8"), 1024 * 35136);
}

TEST(Fit, CountsWindowsAsTheEnginesOfTheDeviceKeepThem) {
  const auto kv = [](const char* gpu, const char* context) {
    const Outcome outcome = dure({"fit", data("models/gpt-oss-bf16"), "--gpu", gpu, "--context",
                                  context, "--compute", "bf16", "--json"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const Json json = parse_json(outcome.out, "output");
    EXPECT_EQ(json["assumptions"]["windowed_layers_keep"], "their windows");
    return json["kv"].get<int64_t>();
  };
  EXPECT_EQ(kv("h100", "16"), kv("cpu", "16"));
  EXPECT_LT(kv("h100", "256"), kv("cpu", "256"));
}

TEST(Fit, CountsTheExchangeOfExpertsOnItsGpuAndWarnsOfATightUtilization) {
  for (const char* gpu : {"b200", "gb200"}) {
    const auto answer = [&](const char* ranks) {
      return parse_json(
          dure({"fit", data("configs/released/deepseek-ai--DeepSeek-V3.json"), "--gpu", gpu, "--dp",
                ranks, "--ep", ranks, "--utilization", "0.95", "--weights", "fp8", "--json"})
              .out,
          "output");
    };
    const Json wide = answer("32");
    EXPECT_NEAR(wide["usable_bytes"].get<double>() / (1 << 30),
                std::string(gpu) == "b200" ? 178.35 : 184.31, 0.001);
    EXPECT_GT(wide["communication"], answer("16")["communication"]);
    EXPECT_THAT(wide["remarks"].dump(), HasSubstr("utilization 0.95"));
  }
}

TEST(Fit, PrintsTheMapOfLayers) {
  const std::string map =
      dure({"fit", data("configs/field-cases/layers-10"), "--gpu", "h100", "--pp", "3"}).out;
  EXPECT_THAT(map, ContainsRegex("\n0 +0–3 "));
  EXPECT_THAT(map, ContainsRegex("\n1 +4–6 "));
  EXPECT_THAT(map, ContainsRegex("\n2 +7–9 "));
  const std::string thirty =
      dure({"fit", data("configs/field-cases/sliding-some"), "--gpu", "h100", "--pp", "4"}).out;
  EXPECT_THAT(thirty, ContainsRegex("\n0 +0–7 "));
  EXPECT_THAT(thirty, ContainsRegex("\n1 +8–15 "));
  EXPECT_THAT(thirty, ContainsRegex("\n2 +16–22 "));
  EXPECT_THAT(thirty, ContainsRegex("\n3 +23–29 "));
}

TEST(Fit, RefusesLayoutsThatTheModelCannotTake) {
  expect_refused(dure({"fit", data("models/llama"), "--gpu", "h100", "--pp", "4"}),
                 "4 stages, 3 layers");
  expect_refused(dure({"fit", data("models/mixtral"), "--gpu", "h100", "--dp", "16", "--ep", "16"}),
                 "16 shares of 8 experts");
  expect_refused(dure({"fit", data("models/llama"), "--gpu", "h100", "--tp", "4", "--nodes", "1",
                       "--ranks-per-node", "2"}),
                 "4 ranks on 1 × 2");
}

}  // namespace
}  // namespace dure
