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

namespace dure {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Outcome {
  int status = 0;
  std::string out;
  std::string err;
};

Outcome dure(std::vector<std::string> arguments) {
  std::vector<const char*> argv = {"dure"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.status = run_command_line(static_cast<int>(argv.size()), argv.data());
  outcome.out = ::testing::internal::GetCapturedStdout();
  outcome.err = ::testing::internal::GetCapturedStderr();
  return outcome;
}

std::string data(const std::string& path) {
  return (std::filesystem::path(DURE_SOURCE_DIR) / "testdata" / path).string();
}

// One `error:` line, one `hint:` line, exit 2, nothing on standard output.
void expect_refused(const Outcome& outcome, const std::string& what) {
  EXPECT_EQ(outcome.status, 2) << what;
  EXPECT_EQ(outcome.out, "") << what;
  EXPECT_THAT(outcome.err, StartsWith("error: ")) << what;
  EXPECT_THAT(outcome.err, HasSubstr("\nhint: ")) << what;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 2) << outcome.err;
}

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
  }
  for (const char* key : {"kv_dtype", "utilization", "overhead", "engine", "weights", "compute"}) {
    EXPECT_TRUE(json["assumptions"].contains(key)) << key;
  }
  EXPECT_GT(json["kv_tokens"].get<int64_t>(), 0);
}

TEST(Fit, PrintsTheMapOfLayers) {
  const std::string map =
      dure({"fit", data("configs/field-cases/layers-10"), "--gpu", "h100", "--pp", "3"}).out;
  EXPECT_THAT(map, ContainsRegex("\n0 +0–3 "));
  EXPECT_THAT(map, ContainsRegex("\n1 +4–6 "));
  EXPECT_THAT(map, ContainsRegex("\n2 +7–9 "));
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
