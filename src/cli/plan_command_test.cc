// `dure plan` as people and programs run it.
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/json.h"
#include "cli/testing.h"

namespace dure {
namespace {

using testing::data;
using testing::dure;
using testing::expect_refused;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;

std::vector<std::string> plan_of(const std::string& model, const std::string& gpu,
                                 const std::string& gpus,
                                 const std::vector<std::string>& more = {}) {
  std::vector<std::string> line = {"plan", model, "--gpu", gpu, "--gpus", gpus};
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

Json json_of(const Outcome& outcome) {
  return parse_json(outcome.out, "the output");
}

TEST(PlanCommand, SaysWhatItFoundAndWhy) {
  const Outcome outcome = dure(plan_of(
      "deepseek-v3", "h200", "16",
      {"--gpus-per-node", "8", "--input", "2000", "--output", "500", "--concurrency", "256"}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* part :
       {"256 requests in flight of 2,000 tokens in, 500 out", "replicas × layout", "tokens/s",
        "8 of 10 measured runs lie within TTFT", "a decode step of ", "memory of each rank",
        "as by: dure fit deepseek-v3 --gpu h200 --engine vllm",
        "rule of thumb (tp = GPUs per node, pp = nodes), tp 8 pp 2", "no other beats in both",
        "do not fit: ", "GiB missing: weights alone", "ways out:", "assumed: load: closed",
        "assumed: data sheet: 4.80 TB/s memory"}) {
    EXPECT_THAT(outcome.out, HasSubstr(part));
  }
}

TEST(PlanCommand, FitsATerminal) {
  const Outcome outcome =
      dure(plan_of("qwen3-235b-a22b", "h100", "16", {"--concurrency", "64", "--tpot", "40ms"}));
  size_t longest = 0;
  for (size_t at = 0; at < outcome.out.size();) {
    const size_t end = outcome.out.find('\n', at);
    size_t columns = 0;
    for (size_t i = at; i < end; ++i) columns += (outcome.out[i] & 0xC0) != 0x80 ? 1 : 0;
    longest = std::max(longest, columns);
    at = end + 1;
  }
  EXPECT_LE(longest, 120);
}

TEST(PlanCommand, GivesStableKeysInSiUnits) {
  const Outcome outcome =
      dure(plan_of("qwen3-30b-a3b", "h100", "4", {"--concurrency", "32", "--top", "3", "--json"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json json = json_of(outcome);
  EXPECT_TRUE(json["met"].get<bool>());
  ASSERT_EQ(json["layouts"].size(), 3);
  for (const Json& layout : json["layouts"]) {
    for (const char* key : {"ttft_s", "tpot_s", "tokens_per_s", "tokens_per_s_per_gpu", "users",
                            "users_most", "weights", "padding", "kv", "activation", "communication",
                            "overhead", "cuda_graphs", "free", "kv_tokens"}) {
      EXPECT_TRUE(layout[key].is_number()) << key;
    }
    EXPECT_THAT(layout["bound"].get<std::string>(),
                ::testing::AnyOf("memory", "compute", "network", "overhead"));
    // As a user checks it by hand.
    EXPECT_NEAR(layout["users"].get<double>() * layout["tokens_per_s_per_user"].get<double>(),
                layout["tokens_per_s"].get<double>(), 1e-6);
    const Json& balance = layout["balance"];
    EXPECT_GT(balance["moe_tokens"], balance["dense_tokens"]);
    EXPECT_GT(balance["decode_tokens"], 0.0);
    EXPECT_EQ(balance["side"], "memory");
    EXPECT_EQ(layout["ranks"].size(), layout["layout"]["world"].get<size_t>());
    EXPECT_LT(layout["ttft_band_s"][0], layout["ttft_s"]);
    EXPECT_GT(layout["ttft_band_s"][1], layout["ttft_s"]);
    EXPECT_NEAR(layout["tokens_per_s_per_gpu"].get<double>() * layout["gpus_used"].get<double>(),
                layout["tokens_per_s"].get<double>(), 1e-6);
  }
  EXPECT_EQ(json["layouts_considered"].get<size_t>(),
            json["layouts"].size() + json["rejected"].size());
  EXPECT_FALSE(json["assumptions"].empty());
}

TEST(PlanCommand, CountsTheMemoryThatFitCounts) {
  const Json plan = json_of(
      dure(plan_of("deepseek-v3", "h200", "8", {"--concurrency", "64", "--json", "--top", "1"})));
  const Json& best = plan["layouts"][0];
  const auto flag = [&](const char* name) {
    return std::to_string(best["layout"][name].get<int>());
  };
  const int64_t sequences =
      best["decode_step"]["decodes"].get<int64_t>() * best["layout"]["dp"].get<int64_t>();
  const Json fit = json_of(dure({"fit",
                                 "deepseek-v3",
                                 "--gpu",
                                 "h200",
                                 "--engine",
                                 "vllm",
                                 "--tp",
                                 flag("tp"),
                                 "--pp",
                                 flag("pp"),
                                 "--dp",
                                 flag("dp"),
                                 "--ep",
                                 flag("ep"),
                                 "--context",
                                 "1536",
                                 "--sequences",
                                 std::to_string(sequences),
                                 "--max-batch-tokens",
                                 std::to_string(best["max_batch_tokens"].get<int64_t>()),
                                 "--json"}));
  for (size_t rank = 0; rank < best["ranks"].size(); ++rank) {
    for (const char* key : {"weights", "padding", "kv", "activation", "communication", "overhead",
                            "cuda_graphs", "free", "layers", "experts"}) {
      EXPECT_EQ(best["ranks"][rank][key], fit["ranks"][rank][key]) << rank << key;
    }
  }
}

TEST(PlanCommand, AnswersNoWithWhatComesClosest) {
  const Outcome tight =
      dure(plan_of("llama-3.1-70b", "h100", "8", {"--concurrency", "64", "--tpot", "1ms"}));
  EXPECT_EQ(tight.status, 1);
  EXPECT_THAT(tight.out, HasSubstr("no layout keeps the limits; the closest, "));
  EXPECT_THAT(tight.out, HasSubstr("above the limit of 1.00 ms"));
  const Outcome large = dure(plan_of("llama-3.1-405b", "h100", "8", {"--concurrency", "1"}));
  EXPECT_EQ(large.status, 1);
  EXPECT_THAT(large.out, HasSubstr("no layout of 8 × h100 holds the model"));
  EXPECT_THAT(large.out, HasSubstr("weights as fp8: 410.1 GB"));
  EXPECT_THAT(large.out, HasSubstr("more GPUs: 16 × h100"));
}

TEST(PlanCommand, RefusesNonsense) {
  const std::vector<std::string> load = {"--concurrency", "8"};
  const auto with = [&](const std::string& flag, const std::string& value) {
    return dure(plan_of("llama-3.1-8b", "h100", "8", {"--concurrency", "8", flag, value}));
  };
  for (const char* gpus : {"0", "-1", "eight", "1e9", "8.5", ""}) {
    expect_refused(dure(plan_of("llama-3.1-8b", "h100", gpus, load)), gpus);
  }
  for (const char* gpu : {"h100,h200", "80GB", "h101", "cpu", ""}) {
    expect_refused(dure(plan_of("llama-3.1-8b", gpu, "8", load)), gpu);
  }
  for (const char* model : {"1T", "no-such-model", "", "-5B"}) {
    expect_refused(dure(plan_of(model, "h100", "8", load)), model);
  }
  expect_refused(dure(plan_of(data("configs"), "h100", "8", load)), "a folder without a config");
  expect_refused(dure(plan_of("llama-3.1-8b", "h100", "8")), "no load");
  for (const char* time : {"30", "-3ms", "0s", "fast", "1e400s", "3 h"}) {
    expect_refused(with("--tpot", time), time);
    expect_refused(with("--ttft", time), time);
  }
  for (const char* count : {"0", "-8", "1e30", "many", "99999999999999999999"}) {
    expect_refused(dure(plan_of("llama-3.1-8b", "h100", "8", {"--concurrency", count})), count);
    expect_refused(with("--input", count), count);
    expect_refused(with("--output", count), count);
  }
  expect_refused(with("--rate", "5"), "two loads");
  for (const char* rate : {"0", "-1", "nan", "1e99"}) {
    expect_refused(dure(plan_of("llama-3.1-8b", "h100", "8", {"--rate", rate})), rate);
  }
  expect_refused(with("--nic", "0"), "no NIC");
  expect_refused(with("--nic", "nan"), "nan");
  expect_refused(with("--gpus-per-node", "0"), "no node");
  expect_refused(with("--engine", "llm"), "unknown engine");
  expect_refused(with("--engine-version", "new"), "no version");
  expect_refused(with("--weights", "fp7"), "unknown format");
  expect_refused(with("--kv-type", "fp2"), "unknown cache");
  expect_refused(with("--objective", "fun"), "unknown objective");
  expect_refused(with("--top", "0"), "none");
  expect_refused(with("--utilization", "1.5"), "more than all");
}

// Figures move with the calibration; tools/refresh_examples.py writes them anew.
TEST(PlanCommand, AnswersEveryQuestionOfItsPage) {
  std::ifstream page(testing::data("../docs/planning.md"));
  std::string line;
  int commands = 0;
  while (std::getline(page, line)) {
    if (!line.starts_with("$ dure plan ")) continue;
    std::istringstream words(line.substr(7));
    const Outcome outcome = dure({std::istream_iterator<std::string>(words), {}});
    EXPECT_TRUE(outcome.status == 0 || outcome.status == 1) << line << outcome.err;
    for (int heading = 0; heading < 2; ++heading) {  // model, GPUs and load: no figures
      ASSERT_TRUE(std::getline(page, line));
      EXPECT_THAT(outcome.out, HasSubstr(line + '\n'));
    }
    ++commands;
  }
  EXPECT_GE(commands, 6);
}

TEST(PlanCommand, SaysThatGpusOfTwoKindsAreNotAveraged) {
  const Outcome outcome = dure(plan_of("llama-3.1-8b", "h100,h200", "8", {"--concurrency", "8"}));
  EXPECT_THAT(outcome.err, HasSubstr("two kinds of GPU in one group are not planned"));
}

// Planning is for laptops: libraries are named in the executable, and so are the symbols of what is
// linked into it.
TEST(PlanCommand, IsInAProgramWithoutMpiAndKernels) {
  std::ifstream file(DURE_PROGRAM, std::ios::binary);
  const std::string program{std::istreambuf_iterator<char>(file), {}};
  ASSERT_GT(program.size(), 100'000);
  EXPECT_THAT(program.find("libfmt.so"), Not(std::string::npos));  // names are where we look
  for (const char* name :
       {"libmpi", "libopen-pal", "libpmix", "MPI_Init", "ReferenceBackend", "VectorBackend"}) {
    EXPECT_EQ(program.find(name), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace dure
