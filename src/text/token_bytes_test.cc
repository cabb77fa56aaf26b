// The bytes of tokens are what the stream decoder makes of them.
#include "text/token_bytes.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/utf8.h"

namespace dure {
namespace {

std::vector<std::filesystem::path> tokenizers() {
  const std::filesystem::path root(DURE_SOURCE_DIR);
  std::vector<std::filesystem::path> out{root / "testdata/tokenizers/qwen3"};
  for (const char* name : {"gemma3", "llama3", "deepseek_v3", "gptoss"}) {
    const std::filesystem::path folder = root / "../shared/data/tokenizers" / name;
    if (std::filesystem::exists(folder)) out.push_back(folder);
  }
  std::printf("%zu tokenizers\n", out.size());
  return out;
}

TEST(TokenBytes, JoinToTheTextThatTheTokensDecodeTo) {
  const std::string text =
      "  Grüße, 서울! {\"a\": [1, 2.50]}\n\t\U0001F600\U0001F468\u200d\U0001F469 x=y;\r\n";
  for (const auto& folder : tokenizers()) {
    SCOPED_TRACE(folder.string());
    const auto tokenizer = Tokenizer::load(folder);
    const std::vector<std::string> bytes = token_bytes(*tokenizer);
    ASSERT_EQ(bytes.size(), static_cast<size_t>(tokenizer->vocabulary_size()));
    std::string joined;
    for (const int32_t id : tokenizer->encode(text)) joined += bytes[static_cast<size_t>(id)];
    EXPECT_EQ(joined, text);
    size_t empty = 0, cut = 0;
    for (int32_t id = 0; id < tokenizer->vocabulary_size(); ++id) {
      const std::string& one = bytes[static_cast<size_t>(id)];
      if (tokenizer->is_special(id)) {
        EXPECT_EQ(one, "");
      }
      empty += one.empty() ? 1 : 0;
      cut += utf8::first_invalid(one) != one.size() ? 1 : 0;
    }
    EXPECT_LT(empty, bytes.size() / 100 + 5000);
    EXPECT_GT(cut, 100U);  // tokens that are no whole characters
  }
}

}  // namespace
}  // namespace dure
