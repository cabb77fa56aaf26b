// Tokenizers and chat templates of GGUF files.
#include "text/gguf_tokenizer.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "gguf/testing.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace dure {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::GgufBytes;
using ::testing::HasSubstr;

const fs::path source_dir = DURE_SOURCE_DIR;

std::string render(const ChatTemplate& chat_template, const Json& messages, bool prompt = true) {
  ChatRequest request;
  request.messages = &messages;
  request.add_generation_prompt = prompt;
  return chat_template.render(request);
}

TEST(GgufTokenizer, GivesTheRecordedIdsAndChats) {
  std::vector<fs::path> folders = {source_dir / "testdata/gguf/tokenizer"};
  std::error_code absent;
  for (const auto& entry :
       fs::directory_iterator(source_dir / "../shared/data/golden/models", absent)) {
    const std::string name = entry.path().filename().string();
    const bool recorded = fs::exists(entry.path() / "tokenizer_cases.json");
    if (name.starts_with("gguf-") && recorded) folders.push_back(entry.path());
  }
  std::printf("%zu recorded tokenizers in GGUF\n", folders.size());
  for (const fs::path& folder : folders) {
    const auto tokenizer = Tokenizer::load(folder);
    const Json recorded = read_json_file(folder / "tokenizer_cases.json");
    for (const Json& row : recorded["cases"]) {
      EXPECT_EQ(Json(tokenizer->encode(row["text"].get<std::string>())), row["ids"]) << row;
    }
    const Json& chat = recorded["chat"];
    ASSERT_TRUE(ChatTemplate::is_in(folder));
    const std::string text = render(*ChatTemplate::load(folder), chat["messages"],
                                    chat["add_generation_prompt"].get<bool>());
    EXPECT_EQ(text, chat["text"].get<std::string>());
    EXPECT_EQ(Json(tokenizer->encode(text)), chat["ids"]);
  }
}

class TempFile {
 public:
  explicit TempFile(const GgufBytes& bytes) {
    std::string name = (fs::temp_directory_path() / "dure-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    folder_ = name;
    std::ofstream(path(), std::ios::binary) << bytes.file();
  }
  ~TempFile() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  fs::path path() const { return folder_ / "m.gguf"; }

 private:
  fs::path folder_;
};

// Bytes of ASCII and some special tokens.
GgufBytes vocabulary(const char* chat_template) {
  std::vector<std::string> tokens = {"<s>", "[gMASK]", "<sop>"};
  std::vector<int32_t> types = {3, 3, 3};
  for (char c = '!'; c <= '~'; ++c) {
    tokens.emplace_back(1, c);
    types.push_back(1);
  }
  GgufBytes bytes;
  bytes.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "qwen2");
  bytes.texts("tokenizer.ggml.tokens", tokens);
  bytes.numbers<int32_t>("tokenizer.ggml.token_type", 5, types);
  bytes.u32("tokenizer.ggml.bos_token_id", 0);
  bytes.text("tokenizer.chat_template", chat_template);
  return bytes;
}

const Json hello = Json::array({{{"role", "user"}, {"content", "a"}}});
const std::vector<int32_t> with_bos = {0, 3 + 'a' - '!'};

TEST(GgufChat, BeginsWithOneBosWhetherTheTemplatePutsItThereOrNot) {
  for (const char* chat_template :
       {"{{ bos_token }}{{ messages[0].content }}", "{{ messages[0].content }}",
        "{%- for m in messages -%}{{ m.content }}{%- endfor -%}"}) {
    const TempFile file(vocabulary(chat_template).boolean("tokenizer.ggml.add_bos_token", true));
    const auto tokenizer = Tokenizer::load(file.path());
    EXPECT_EQ(tokenizer->encode(render(*ChatTemplate::load(file.path()), hello)), with_bos)
        << chat_template;
    EXPECT_EQ(tokenizer->encode("a", {.add_special = true}), with_bos);
  }
}

TEST(GgufChat, KeepsWhatTheTemplateBeginsWithWhereNoBosIsAskedFor) {
  const TempFile file(vocabulary("[gMASK]<sop>{{ messages[0].content }}")
                          .boolean("tokenizer.ggml.add_bos_token", false));
  const auto tokenizer = Tokenizer::load(file.path());
  EXPECT_THAT(tokenizer->encode(render(*ChatTemplate::load(file.path()), hello)),
              ElementsAre(1, 2, with_bos[1]));
  EXPECT_THAT(tokenizer->encode("a", {.add_special = true}), ElementsAre(with_bos[1]));
}

// Two halves become the token with the highest score first, and what has no token its bytes.
TEST(GgufTokenizer, OfScoresMergesByThem) {
  GgufBytes bytes;
  bytes.text("tokenizer.ggml.model", "llama");
  bytes.texts("tokenizer.ggml.tokens",
              {"<unk>", "<s>", "<0xC3>", "<0xA9>", "▁", "a", "b", "c", "ab", "bc", "▁a", "abc"});
  bytes.numbers<int32_t>("tokenizer.ggml.token_type", 5, {2, 3, 6, 6, 1, 1, 1, 1, 1, 1, 1, 1});
  bytes.numbers<float>("tokenizer.ggml.scores", 6, {0, 0, 0, 0, -9, -9, -9, -9, -3, -1, -4, -5});
  bytes.u32("tokenizer.ggml.bos_token_id", 1).u32("tokenizer.ggml.unknown_token_id", 0);
  const TempFile file(bytes);
  const auto tokenizer = Tokenizer::load(file.path());
  EXPECT_THAT(tokenizer->encode("abc"), ElementsAre(10, 9));  // bc before ▁a
  EXPECT_THAT(tokenizer->encode("é"), ElementsAre(4, 2, 3));
  EXPECT_THAT(tokenizer->encode("ab", {.add_special = true}), ElementsAre(1, 4, 8));
  EXPECT_EQ(tokenizer->decode({10, 9, 2, 3}, false), "abcé");
}

TEST(GgufTokenizer, RefusesAWayOfCuttingTextThatItDoesNotKnow) {
  GgufBytes bytes;
  bytes.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "novel-bpe");
  bytes.texts("tokenizer.ggml.tokens", {"a"});
  const TempFile file(bytes);
  try {
    Tokenizer::load(file.path());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.field(), "tokenizer.ggml.pre");
    EXPECT_THAT(error.message(), HasSubstr("novel-bpe"));
  }
}

TEST(GgufTokenizer, KnowsEachOfItsPreTokenizers) {
  for (const char* name : {"", "gpt-2", "llama-bpe", "qwen2", "gpt-4o", "deepseek-v3", "smollm"}) {
    GgufBytes bytes;
    bytes.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", name);
    bytes.texts("tokenizer.ggml.tokens", {"a", "1"});
    const TempFile file(bytes);
    EXPECT_THAT(Tokenizer::load(file.path())->encode("a1"), ElementsAre(0, 1)) << name;
  }
}

}  // namespace
}  // namespace dure
