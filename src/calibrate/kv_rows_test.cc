#include "calibrate/kv_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>

#include "base/error.h"

namespace dure {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const fs::path source = DURE_SOURCE_DIR;

ConfigFinder shipped_configs() {
  return ConfigFinder({source / "testdata/configs/released", source / "testdata/configs/measured"});
}

std::vector<KvResult> results_of(const fs::path& file) {
  const ConfigFinder configs = shipped_configs();
  std::vector<KvResult> results;
  for (const KvRow& row : read_kv_rows(file)) results.push_back(predict_kv_row(row, configs));
  return results;
}

// A file of rows that is gone with the test.
class RowsFile {
 public:
  explicit RowsFile(std::string_view rows) {
    std::string name = (fs::temp_directory_path() / "kv_rows_XXXXXX").string();
    folder_ = mkdtemp(name.data());
    std::ofstream(path()) << "engine,version,model,gpu,gpus,tp,pp,dp,ep,dtype,kv_dtype,util,"
                             "max_len,weights_gib,kv_gib,kv_tokens,source\n"
                          << rows;
  }
  ~RowsFile() { fs::remove_all(folder_); }
  RowsFile(const RowsFile&) = delete;
  RowsFile& operator=(const RowsFile&) = delete;
  fs::path path() const { return folder_ / "rows.csv"; }

 private:
  fs::path folder_;
};

std::string refusal(const std::string& row) {
  const RowsFile file(row);
  try {
    read_kv_rows(file.path());
  } catch (const Error& error) {
    return error.message();
  }
  return "accepted";
}

KvResult result_of(const std::string& row) {
  const RowsFile file(row);
  return results_of(file.path()).at(0);
}

void expect_bars(const fs::path& file) {
  double plain = 0.0;
  double all = 0.0;
  int plain_rows = 0;
  int all_rows = 0;
  for (const KvResult& result : results_of(file)) {
    if (!result.error || !result.row.tokens) continue;
    all += std::abs(*result.error);
    ++all_rows;
    if (kv_bar(result.kind) > 0.02) continue;
    plain += std::abs(*result.error);
    ++plain_rows;
  }
  ASSERT_GE(plain_rows, 40);
  ASSERT_GE(all_rows, 48);
  EXPECT_LE(plain / plain_rows, 0.02);
  EXPECT_LE(all / all_rows, 0.05);
}

TEST(KvRows, MeasuredCapacitiesAreReproducedWithinTheBars) {
  expect_bars(source / "testdata/measured/kv_capacity.csv");
  const fs::path full = source / "../shared/data/measured/kv_capacity.csv";
  if (fs::exists(full)) expect_bars(full);
}

TEST(KvRows, MeasuredWeightsAreReproducedToAHundredthOfAGibibyteOrAPerMille) {
  int rows = 0;
  for (const KvResult& result : results_of(source / "testdata/measured/kv_capacity.csv")) {
    // One row's weights are those of kernels that another version chose.
    if (!result.error || !result.row.weights_gib || *result.row.weights_gib == 64.38) continue;
    const double measured = *result.row.weights_gib;
    EXPECT_NEAR(result.weights_gib, measured, std::max(0.021, measured * 1e-3))
        << result.row.model << " line " << result.row.line;
    ++rows;
  }
  EXPECT_GE(rows, 50);
}

// Rows whose memory the file does not explain; each says why in the report of accuracy.
TEST(KvRows, FewRowsFailAndNoneIsLeftOut) {
  const auto results = results_of(source / "testdata/measured/kv_capacity.csv");
  std::map<bool, int> passed;
  for (const KvResult& result : results) ++passed[result.passed()];
  EXPECT_EQ(results.size(), 62U);
  EXPECT_LE(passed[false], 7);
  EXPECT_THAT(kv_report(results), HasSubstr("bar KV tokens, dense and MLA: mean absolute error"));
}

TEST(KvRows, SaysWhichVersionsOverheadsWereUsed) {
  const std::string rest = ",Qwen/Qwen3-8B,H100-80GB,1,1,1,1,1,bf16,bf16,0.9,8192,,50,,x\n";
  EXPECT_EQ(result_of("vllm,0.11.2" + rest).overheads,
            "vLLM 0.11.2 (overheads as of 0.10 and 0.11)");
  EXPECT_EQ(result_of("vllm,0.19.1" + rest).overheads, "vLLM 0.19.1 (overheads as of 0.19)");
  EXPECT_EQ(result_of("vllm," + rest).overheads, "vLLM 0.19.0 (overheads as of 0.19)");
  EXPECT_THAT(result_of("sglang,0.5.6" + rest).overheads, HasSubstr("not measured"));
}

TEST(KvRows, WhatCannotBePredictedFailsByName) {
  const std::string rest = ",1,1,1,1,1,bf16,bf16,0.9,8192,,50,,x\n";
  EXPECT_THAT(result_of("vllm,0.19.0,someone/unheard-of,H100-80GB" + rest).problem,
              HasSubstr("no config.json for someone/unheard-of"));
  EXPECT_THAT(result_of("vllm,0.19.0,Qwen/Qwen3-8B,H900-80GB" + rest).problem,
              HasSubstr("unknown"));
  EXPECT_THAT(result_of("vllm,0.19.0,Qwen/Qwen3-8B,H100-80GB+H200-141GB" + rest).problem,
              HasSubstr("several kinds"));
  EXPECT_THAT(result_of("flash,0.19.0,Qwen/Qwen3-8B,H100-80GB" + rest).problem,
              HasSubstr("engine flash: unknown"));
  EXPECT_THAT(result_of("vllm,new,Qwen/Qwen3-8B,H100-80GB" + rest).problem,
              HasSubstr("not a version"));
  const KvResult unsaid =
      result_of("vllm,0.19.0,Qwen/Qwen3-8B,H100-80GB,1,1,1,1,1,bf16,bf16,0.9,,,,,x\n");
  EXPECT_FALSE(unsaid.passed());
  EXPECT_THAT(kv_report({unsaid}), HasSubstr("FAILED line 2"));
}

TEST(KvRows, RefusesRowsThatCannotBeMeantNamingLineAndColumn) {
  EXPECT_THAT(refusal("vllm,0.19.0,m,H100-80GB,1,0,1,1,1,bf16,bf16,0.9,8192,,,,x\n"),
              HasSubstr("line 2, column tp"));
  EXPECT_THAT(refusal("vllm,0.19.0,m,H100-80GB,1,1,1,1,1,bf16,bf16,1.9,8192,,,,x\n"),
              HasSubstr("column util"));
  EXPECT_THAT(refusal("vllm,0.19.0,m,H100-80GB,1,1,1,1,1,bf16,bf16,0.9,-8,,,,x\n"),
              HasSubstr("column max_len"));
  EXPECT_THAT(refusal("vllm,0.19.0,,H100-80GB,1,1,1,1,1,bf16,bf16,0.9,8192,,,,x\n"),
              HasSubstr("no model is named"));
}

}  // namespace
}  // namespace dure
