#include "calibrate/serving_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "calibrate/launch_options.h"
#include "calibrate/measured_run.h"
#include "model/load_spec.h"
#include "model/testing.h"

namespace dure {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* header =
    "id,backend,backend_version,model_path,system,mode,isl,osl,gemm_quant_mode,moe_quant_mode,"
    "batch_size,tp_size,pp_size,attention_dp_size,moe_tp_size,moe_ep_size,silicon_ttft_ms,"
    "silicon_tpot_ms,concurrency,measured_on\n";
constexpr const char* note_header =
    "id,clean,flags,same_as,tp,attn_dp,moe_tp,moe_ep,gpus,reqs_per_rank,lengths,spec,"
    "disagg_workers\n";

class Files {
 public:
  explicit Files(const std::string& rows, const std::string& notes = "") {
    std::string name = (fs::temp_directory_path() / "serving_rows_XXXXXX").string();
    folder_ = mkdtemp(name.data());
    std::ofstream(folder_ / "rows.csv") << header << rows;
    std::ofstream(folder_ / "notes.csv") << note_header << notes;
  }
  ~Files() { fs::remove_all(folder_); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  std::vector<ServingRow> rows() const {
    return read_serving_rows(folder_ / "rows.csv", folder_ / "notes.csv");
  }
  std::vector<ServingRow> rows_alone() const {
    return read_serving_rows(folder_ / "rows.csv", std::nullopt);
  }

 private:
  fs::path folder_;
};

std::string refusal(const std::string& row) {
  try {
    Files(row).rows();
  } catch (const Error& error) {
    return error.message();
  }
  return "accepted";
}

TEST(ServingRows, SayWhatRan) {
  const Files files(
      "a,trtllm,1.2,o/M,b200_sxm,agg,1024,8192,nvfp4,nvfp4,256,8,1,1,8,1,190.5,20.25,256,"
      "2026-02-03\n",
      "a,1,,,8,1,8,1,8,256,uniform_0.8_1.0,none,\n");
  const ServingRow row = files.rows().at(0);
  EXPECT_EQ(row.engine, Engine::trtllm);
  EXPECT_EQ(row.layout, (Layout{8, 1, 1, 1}));
  EXPECT_EQ(row.concurrency, 256);
  EXPECT_DOUBLE_EQ(row.ttft, 0.1905);
  EXPECT_DOUBLE_EQ(row.tpot, 0.02025);
  EXPECT_TRUE(row.clean);
  EXPECT_TRUE(row.varied_lengths);
}

// Exports that multiplied each size by the other.
TEST(ServingRows, FindTheLayoutBehindSizesThatWereMultiplied) {
  const std::string rest = ",190,20,256,2026-02-03\n";
  const Files files("a,trtllm,,o/M,b200_sxm,agg,1024,1024,fp8,fp8,256,64,1,1,8,8" + rest +
                    "b,trtllm,,o/M,b200_sxm,agg,1024,1024,fp8,fp8,256,1,1,64,8,8" + rest +
                    "c,trtllm,,o/M,b200_sxm,agg,1024,1024,fp8,fp8,256,4,1,1,2,2" + rest);
  const auto rows = files.rows_alone();
  EXPECT_EQ(rows[0].layout, (Layout{8, 1, 1, 8}));
  EXPECT_EQ(rows[1].layout, (Layout{1, 1, 8, 8}));
  EXPECT_EQ(rows[1].concurrency, 32);  // of each dp rank
  EXPECT_EQ(rows[2].layout.ep, 2);
}

TEST(ServingRows, ReadPoolsOfWorkers) {
  const std::string row = "sglang,,o/M,b200_sxm,disagg,1024,1024,fp8,fp8,,,,,,,500,20,128,\n";
  const Files files("a," + row + "b," + row,
                    "a,1,,,,,,,,,uniform_0.8_1.0,none,1P8/8d+3D4/1\nb,0,,,,,,,,,fixed,none,\n");
  const auto rows = files.rows();
  ASSERT_TRUE(rows[0].prefill && rows[0].decode);
  EXPECT_EQ(rows[0].prefill->workers, 1);
  EXPECT_EQ(rows[0].prefill->layout, (Layout{1, 1, 8, 8}));
  EXPECT_EQ(rows[0].decode->workers, 3);
  EXPECT_EQ(rows[0].decode->layout, (Layout{4, 1, 1, 1}));
  EXPECT_THAT(rows[1].problem, HasSubstr("workers"));
  EXPECT_FALSE(rows[1].clean);
}

TEST(ServingRows, AreRefusedByLineAndColumn) {
  const auto with = [](const std::string& engine, const std::string& isl, const std::string& tpot) {
    return "a," + engine + ",,o/M,b200_sxm,agg," + isl + ",1024,fp8,fp8,8,8,1,1,8,1,190," + tpot +
           ",8,\n";
  };
  EXPECT_EQ(refusal(with("vllm", "1024", "20")), "accepted");
  EXPECT_THAT(refusal(with("llm", "1024", "20")), HasSubstr("llm"));
  EXPECT_THAT(refusal(with("vllm", "0", "20")), HasSubstr("line 2, column isl"));
  EXPECT_THAT(refusal(with("vllm", "1024", "-3")), HasSubstr("column silicon_tpot_ms"));
  EXPECT_THAT(refusal(with("vllm", "1024", "nan")), HasSubstr("column silicon_tpot_ms"));
}

ServingRow deepseek(const std::string& system, const std::string& weights, const std::string& day,
                    int64_t input, int64_t concurrency) {
  ServingRow row;
  row.model = "deepseek-ai/DeepSeek-R1";
  row.system = system;
  row.engine = Engine::trtllm;
  row.weights = row.experts = weights;
  row.day = day;
  row.layout = {8, 1, 1, 1};
  row.input = input;
  row.output = 1024;
  row.in_all = row.concurrency = concurrency;
  return row;
}

ModelSpec deepseek_spec() {
  return load_spec(testing::source_path("testdata/configs/released/deepseek-ai--DeepSeek-V3.json"));
}

// The scripts of 2025 chose attention's data parallelism by the load; rows are labelled tp 8.
TEST(LaunchOptions, AreWhatTheScriptStarted) {
  const Launch few =
      launch_of(deepseek("h200_sxm", "fp8", "2025-11-02", 8192, 32), deepseek_spec());
  EXPECT_EQ(few.layout, (Layout{8, 1, 1, 8}));
  const Launch many =
      launch_of(deepseek("h200_sxm", "fp8", "2025-11-02", 8192, 64), deepseek_spec());
  EXPECT_EQ(many.layout, (Layout{1, 1, 8, 8}));
  EXPECT_EQ(many.concurrency, 8);
  EXPECT_EQ(many.scheduling.wait_steps, 60);
  const Launch later =
      launch_of(deepseek("h200_sxm", "fp8", "2026-01-14", 8192, 64), deepseek_spec());
  EXPECT_EQ(later.layout, (Layout{8, 1, 1, 1}));
}

TEST(MeasuredRun, IsRefusedOnAnUnknownSystemOrFormat) {
  EXPECT_THROW(measured_run(deepseek("z9000_sxm", "fp8", "", 1024, 4), deepseek_spec()), Error);
  EXPECT_THROW(measured_run(deepseek("h200_sxm", "int3", "", 1024, 4), deepseek_spec()), Error);
}

TEST(MeasuredRun, WaitsLongerForFirstTokensUnderMoreLoad) {
  double before = 0.0;
  for (const int64_t concurrency : {4, 32, 256}) {
    const ServedMeans means =
        predict(measured_run(deepseek("b200_sxm", "nvfp4", "2026-02-03", 8192, concurrency),
                             deepseek_spec()),
                TimeConstants{});
    EXPECT_GT(means.ttft, before);
    before = means.ttft;
  }
}

}  // namespace
}  // namespace dure
