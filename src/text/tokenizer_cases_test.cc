// Tokenizers against recordings: the large public ones, the tiny models' own, and components and
// patterns that few models use. Everything recorded by Hugging Face tokenizers.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "text/golden.h"
#include "text/pre_tokenizer.h"
#include "text/tokenizer.h"

namespace dure {
namespace {

namespace fs = std::filesystem;

const fs::path source_dir = DURE_SOURCE_DIR;
const fs::path shared_data = source_dir / ".." / "shared" / "data";

std::vector<Json> rows(const fs::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::vector<Json> out;
  for (std::string line; std::getline(file, line);) out.push_back(parse_json(line, path.string()));
  return out;
}

void expect_all_pass(const std::vector<GoldenKind>& kinds) {
  int passed = 0;
  for (const GoldenKind& kind : kinds) {
    EXPECT_EQ(kind.failed, 0) << kind.name << ": " << testing::PrintToString(kind.failures);
    EXPECT_GT(kind.passed, 0) << kind.name;
    passed += kind.passed;
  }
  std::printf("%zu kinds, %d rows\n", kinds.size(), passed);
}

TEST(RecordedTokenizers, GiveTheRecordedIdsPiecesAndStreams) {
  const auto kinds =
      run_token_goldens(source_dir / "testdata" / "tokenizers", source_dir / "testdata" / "text");
  EXPECT_EQ(kinds.size(), 4u);  // nfc, and three kinds of qwen3
  expect_all_pass(kinds);
}

TEST(RecordedTokenizers, GiveTheWholeRecordedSetWhereItIsAtHand) {
  if (!fs::exists(shared_data / "golden" / "text")) GTEST_SKIP() << "only the shipped subset ran";
  expect_all_pass(run_token_goldens(shared_data / "tokenizers", shared_data / "golden" / "text"));
}

TEST(RecordedTokenizers, OfTinyModelsGiveTheRecordedIds) {
  const fs::path all = shared_data / "golden" / "models";
  const fs::path root = fs::exists(all) ? all : source_dir / "testdata" / "text" / "tiny";
  std::printf("cases of %s\n", root.c_str());
  int checked = 0;
  for (const auto& entry : fs::directory_iterator(root)) {
    const fs::path cases = entry.path() / "tokenizer_cases.json";
    if (!fs::exists(cases) || !fs::exists(entry.path() / "tokenizer.json")) continue;
    const auto tokenizer = Tokenizer::load(entry.path());
    const Json recorded = read_json_file(cases);
    for (const Json& row : recorded["cases"]) {
      const auto ids = tokenizer->encode(row["text"].get<std::string>());
      EXPECT_EQ(Json(ids), row["ids"]) << cases << row;
      EXPECT_EQ(tokenizer->decode(ids, false), row["decoded"].get<std::string>()) << cases;
      ++checked;
    }
  }
  EXPECT_GT(checked, 0);
}

TEST(PreTokenizer, CutsAsRecordedForEveryPatternAndBehavior) {
  for (const Json& row : rows(source_dir / "testdata" / "text" / "splits.jsonl")) {
    const PreTokenizer pre_tokenizer = PreTokenizer::parse(row["pre_tokenizer"], "recorded");
    auto text = row["text"].get<std::string>();
    PreTokenizer::Scratch scratch;
    std::vector<Piece> cut;
    pre_tokenizer.apply(text, true, scratch, cut);
    std::vector<std::string> pieces;
    for (const Piece piece : cut)
      pieces.push_back(text.substr(piece.begin, piece.end - piece.begin));
    EXPECT_EQ(Json(pieces), row["pieces"]) << row;
  }
}

TEST(Tokenizer, TreatsUncommonComponentsAsRecorded) {
  int configuration = 0;
  for (const Json& row : rows(source_dir / "testdata" / "text" / "components.jsonl")) {
    const auto tokenizer = Tokenizer::parse(row["tokenizer"].dump(), "recorded");
    for (const Json& test : row["cases"]) {
      EncodeOptions options;
      options.add_special = test["add_special"].get<bool>();
      options.parse_special = test["parse_special"].get<bool>();
      const auto ids = tokenizer->encode(test["text"].get<std::string>(), options);
      EXPECT_EQ(Json(ids), test["ids"]) << "configuration " << configuration << " " << test;
      const auto recorded = test["ids"].get<std::vector<int32_t>>();
      EXPECT_EQ(Json(tokenizer->decode(recorded, false)), test["decoded"]) << configuration << test;
      EXPECT_EQ(Json(tokenizer->decode(recorded, true)), test["decoded_skip_special"])
          << configuration << test;
    }
    ++configuration;
  }
}

}  // namespace
}  // namespace dure
