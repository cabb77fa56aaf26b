// The tokenizer on hard input: runs of one letter, hostile files, text and bytes that are not
// UTF-8, streams cut anywhere.
#include "text/tokenizer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"

namespace dure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::filesystem::path source_dir = DURE_SOURCE_DIR;
const std::filesystem::path all_tokenizers = source_dir / ".." / "shared" / "data" / "tokenizers";

std::shared_ptr<const Tokenizer> qwen3() {
  static const auto tokenizer = Tokenizer::load(source_dir / "testdata" / "tokenizers" / "qwen3");
  return tokenizer;
}

std::string repeated(std::string_view unit, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += unit;
  return out;
}

// A byte-level tokenizer.json of the letters a to d, to be spoilt by tests.
Json small_file() {
  return Json::parse(R"({
    "version": "1.0", "added_tokens": [
      {"id": 7, "content": "<end>", "special": true, "normalized": false}],
    "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false,
    "trim_offsets": true, "use_regex": false}, "post_processor": null,
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "d": 3, "ab": 4, "cd": 5, "abcd": 6},
              "merges": [["a", "b"], ["c", "d"], ["ab", "cd"]]}})");
}

std::string refusal_of_text(const std::string& text) {
  try {
    Tokenizer::parse(text, "file");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_FALSE(error.hint().empty());
    return error.message();
  }
  return "accepted";
}

std::string refusal(const Json& file) {
  return refusal_of_text(file.dump());
}

// Runs of one character, the classic way to stop a server whose merging is quadratic. A quadratic
// merge of these would run into the test's time limit.
TEST(Tokenizer, CountsLongRunsAsTheReferenceDoes) {
  EXPECT_EQ(qwen3()->encode(repeated("a", 100000)).size(), 12500u);
  EXPECT_EQ(qwen3()->encode(repeated("_", 50000)).size(), 782u);
  EXPECT_EQ(qwen3()->encode(repeated("汉", 14000)).size(), 14000u);
  EXPECT_EQ(qwen3()->encode(repeated(" ", 100000)).size(), 782u);
}

TEST(Tokenizer, ReturnsMegabytesOfOneCharacterUnchanged) {
  std::vector<std::filesystem::path> folders{source_dir / "testdata" / "tokenizers" / "qwen3"};
  if (std::filesystem::exists(all_tokenizers))
    for (const auto& entry : std::filesystem::directory_iterator(all_tokenizers))
      folders.push_back(entry.path());
  for (const auto& folder : folders) {
    const auto tokenizer = Tokenizer::load(folder);
    for (const std::string_view unit :
         {"a", "_", "7", "\n", " ", "汉", "가", "\xCC\x81", "<", "!\t"}) {
      // The whole megabyte for the worst one; the others show that they grow no faster.
      const size_t size = size_t{1} << (unit == "a" ? 20 : 17);
      const std::string text = repeated(unit, size / unit.size());
      const auto begin = std::chrono::steady_clock::now();
      const auto ids = tokenizer->encode(text);
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
      EXPECT_EQ(tokenizer->decode(ids, false), text) << folder << " " << unit;
      std::printf("%-12s %7zu bytes of %-3s %7zu tokens %.3f s\n", folder.filename().c_str(), size,
                  unit == "\n" ? "\\n" : std::string(unit).c_str(), ids.size(), spent.count());
    }
  }
}

TEST(Tokenizer, EncodesTextAfterASpecialTokenAsTheReferenceDoes) {
  if (!std::filesystem::exists(all_tokenizers)) GTEST_SKIP() << "gemma3 is not at hand";
  const auto gemma3 = Tokenizer::load(all_tokenizers / "gemma3");
  EXPECT_THAT(gemma3->encode("Hi<end_of_turn> there"), ElementsAre(10979, 106, 993));
}

TEST(Tokenizer, RefusesTextThatIsNotUtf8) {
  for (const std::string_view text :
       {"a\xFF", "\xED\xA0\x80", "\xC0\x80", "\xF4\x90\x80\x80", "\xE4\xB8"}) {
    try {
      qwen3()->encode(text);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_input);
      EXPECT_THAT(error.message(), HasSubstr("not UTF-8"));
    }
  }
}

TEST(Tokenizer, KeepsNulAndLastCodePoint) {
  const std::string text("a\0b\xF4\x8F\xBF\xBF", 7);
  EXPECT_EQ(qwen3()->decode(qwen3()->encode(text), false), text);
}

TEST(Tokenizer, GivesEveryThreadTheSameIds) {
  const std::string text =
      "Merging runs in four threads at once; 네 스레드가 함께 자른다. supercalifragilistic";
  const auto want = qwen3()->encode(text);
  const auto fresh = Tokenizer::load(source_dir / "testdata" / "tokenizers" / "qwen3");
  std::vector<std::vector<int32_t>> got(4);
  std::vector<std::thread> threads;
  for (auto& ids : got) threads.emplace_back([&] { ids = fresh->encode(text); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& ids : got) EXPECT_EQ(ids, want);
}

TEST(Tokenizer, AnswersForIdsOutsideTheVocabulary) {
  const int32_t end = qwen3()->vocabulary_size();
  for (const int32_t id : {-1, INT32_MIN, end, INT32_MAX}) {
    EXPECT_EQ(qwen3()->token_of(id), "");
    EXPECT_FALSE(qwen3()->is_special(id));
    EXPECT_EQ(qwen3()->decode({64, id, 65}, false), "ab");
  }
  EXPECT_EQ(qwen3()->id_of("no such token"), -1);
  EXPECT_EQ(qwen3()->token_of(qwen3()->id_of("<|im_end|>")), "<|im_end|>");
  EXPECT_TRUE(qwen3()->is_special(qwen3()->id_of("<|im_end|>")));
  EXPECT_FALSE(qwen3()->is_special(qwen3()->id_of("<think>")));
}

TEST(Tokenizer, MergesTheSmallFileAsWritten) {
  const auto tokenizer = Tokenizer::parse(small_file().dump(), "file");
  EXPECT_THAT(tokenizer->encode("abcd<end>ba"), ElementsAre(6, 7, 1, 0));
  EXPECT_THAT(tokenizer->encode("<end>", {.parse_special = false}), ElementsAre(3));
  EXPECT_EQ(tokenizer->vocabulary_size(), 8);
}

TEST(TokenizerFile, MayBeCutAnywhereAndIsRefused) {
  const std::string text = small_file().dump();
  for (size_t size = 0; size < text.size(); ++size)
    EXPECT_NE(refusal_of_text(text.substr(0, size)), "accepted") << size;
}

TEST(TokenizerFile, IsAFileAndNothingElse) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / fmt::format("dure-tokenizer-{}", getpid());
  const fs::path file = folder / "tokenizer.json";
  const auto refusal = [&] {
    try {
      Tokenizer::load(folder);
    } catch (const Error& error) {
      return error.message();
    }
    return std::string("accepted");
  };
  fs::create_directories(file);
  EXPECT_THAT(refusal(), ::testing::EndsWith("tokenizer.json: not a regular file"));
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);  // nobody ever writes to it
  EXPECT_THAT(refusal(), ::testing::EndsWith("tokenizer.json: not a regular file"));
  fs::remove_all(folder);
}

TEST(TokenizerFile, RefusesIdsThatAreWrongOrBelongToTwoTokens) {
  for (const Json& id :
       {Json(2147483648u), Json(-1), Json(1.5), Json("1"), Json(1e300), Json(nullptr)}) {
    Json file = small_file();
    file["model"]["vocab"]["d"] = id;
    EXPECT_THAT(refusal(file), HasSubstr("model.vocab")) << id;
    file = small_file();
    file["added_tokens"][0]["id"] = id;
    EXPECT_THAT(refusal(file), HasSubstr("added_tokens[0]")) << id;
  }
  Json file = small_file();
  file["model"]["vocab"]["d"] = 2;
  EXPECT_THAT(refusal(file), HasSubstr("the id 2 belongs to two tokens"));
  file = small_file();
  file["added_tokens"][0]["id"] = 3;
  EXPECT_THAT(refusal(file), HasSubstr("the id 3 belongs to two tokens"));
  file = small_file();
  file["added_tokens"][0]["content"] = "ab";
  EXPECT_THAT(refusal(file), HasSubstr("'ab' has id 7, but 4 in model.vocab"));
  file = small_file();
  file["added_tokens"].push_back(file["added_tokens"][0]);
  EXPECT_THAT(refusal(file), HasSubstr("listed twice"));
  EXPECT_THAT(refusal_of_text(R"({"model": {"vocab": {"a": 0, "a": 1}, "merges": []}})"),
              HasSubstr("'a' occurs twice"));
}

TEST(TokenizerFile, RefusesMergesOfTokensThatDoNotExist) {
  for (const char* merge :
       {R"(["a", "x"])", R"(["a", "c"])", R"(["a"])", R"(["a", "b", "c"])", R"([])", R"("ab")",
        R"("a b c")", R"(1)", R"(["a", 1])", R"(null)", R"(["", "a"])"}) {
    Json file = small_file();
    file["model"]["merges"].push_back(Json::parse(merge));
    EXPECT_THAT(refusal(file), HasSubstr("model.merges[3]")) << merge;
  }
}

TEST(TokenizerFile, RefusesByNameWhatIsNotImplemented) {
  const auto with = [](const char* key, const char* value) {
    Json file = small_file();
    file[Json::json_pointer(key)] = Json::parse(value);
    return refusal(file);
  };
  EXPECT_THAT(with("/model/type", "\"Unigram\""), HasSubstr("Unigram"));
  EXPECT_THAT(with("/model/dropout", "0.1"), HasSubstr("model.dropout"));
  EXPECT_THAT(with("/model/end_of_word_suffix", "\"</w>\""), HasSubstr("end_of_word_suffix"));
  EXPECT_THAT(with("/model/unk_token", "\"?\""), HasSubstr("model.unk_token"));
  EXPECT_THAT(with("/normalizer", R"({"type": "NFKC"})"), HasSubstr("NFKC"));
  EXPECT_THAT(with("/pre_tokenizer", R"({"type": "UnicodeScripts"})"), HasSubstr("UnicodeScripts"));
  EXPECT_THAT(with("/post_processor", R"({"type": "BertProcessing"})"),
              HasSubstr("BertProcessing"));
  EXPECT_THAT(with("/decoder", R"({"type": "CTC"})"), HasSubstr("CTC"));
  EXPECT_THAT(with("/normalizer", R"({"type": "NFC", "form": 2})"), HasSubstr("unknown field"));
  EXPECT_THAT(with("/decoder", "[]"), HasSubstr("decoder"));
  EXPECT_THAT(with("/normalizer", R"({"type": "Sequence", "normalizers": 3})"),
              HasSubstr("normalizer"));
}

TEST(TokenizerFile, RefusesDeepNesting) {
  EXPECT_NE(refusal_of_text(repeated("[", 100000)), "accepted");
  const std::string open = R"({"type": "Sequence", "normalizers": [)";
  const std::string close = "]}";
  std::string text = small_file().dump();
  const std::string from = "\"normalizer\":null";
  text.replace(text.find(from), from.size(),
               "\"normalizer\":" + repeated(open, 50) + repeated(close, 50));
  EXPECT_THAT(refusal_of_text(text), HasSubstr("nested"));
}

Json with_pattern(const std::string& pattern) {
  Json file = small_file();
  file["pre_tokenizer"] = {{"type", "Sequence"},
                           {"pretokenizers",
                            {{{"type", "Split"},
                              {"pattern", {{"Regex", pattern}}},
                              {"behavior", "Isolated"},
                              {"invert", false}},
                             file["pre_tokenizer"]}}};
  return file;
}

TEST(TokenizerFile, RefusesPatternsThatAreWrongOrNotImplemented) {
  for (const char* pattern :
       {"(",        ")",           "[",         "[]",     "[^]",       "a**{",
        "*a",       "+",           "(?",        "(?<",    "(?<n",      "(?z)",
        "\\",       "\\p{",        "\\p{Nope}", "\\1",    "(a)\\1",    "\\k<n>",
        "(?i:ss)",  "(?i:[ß])",    "(?i:st)",   "[z-a]",  "[a-\\d]",   "[[:alpha:]]",
        "(?<=a+)b", "\\x{110000}", "\\ud800",   "a{3,2}", "a{100001}", "(?:(?:a{9}){9999}b){9999}",
        "(?(1)a)",  "\\G",         "\\K",       "\\R",    "\\X"}) {
    const std::string why = refusal(with_pattern(pattern));
    if (std::string_view(pattern) == "a**{") {
      EXPECT_EQ(why, "accepted");  // '{' that opens no repeat is itself
    } else {
      EXPECT_THAT(why, HasSubstr("pretokenizers[0]")) << pattern;
    }
  }
  EXPECT_NE(refusal(with_pattern(repeated("(", 5000))), "accepted");
  EXPECT_NE(refusal(with_pattern(repeated("[a", 5000))), "accepted");
}

TEST(TokenizerFile, PatternsThatBacktrackWithoutEndAreAnError) {
  const std::string text = repeated("a", 5000);
  for (const char* pattern : {"(?:a|a)*b", "(?:a*)*b", "(?:a+)+b", "(?:a|aa)+c", "a*a*a*a*a*c"}) {
    const auto tokenizer = Tokenizer::parse(with_pattern(pattern).dump(), "file");
    try {
      tokenizer->encode(text);
      ADD_FAILURE() << pattern << " is finished";
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), HasSubstr("too many steps")) << pattern;
    }
  }
}

TEST(StreamDecoder, ShowsInvalidBytesAsReplacementCharactersAndGoesOn) {
  const auto decode = [](std::vector<int32_t> ids) { return qwen3()->decode(ids, false); };
  const std::string bad(utf8::replacement);
  EXPECT_EQ(decode({158, 250, 227, 227}), "✅" + bad);
  EXPECT_EQ(decode({124, 222}), bad + bad);
  EXPECT_EQ(decode({169, 254, 222}), bad + bad + bad);
  EXPECT_EQ(decode({176, 238, 222, 222}), bad + bad + bad + bad);
  EXPECT_EQ(decode({172, 253, 246}), bad);
  EXPECT_EQ(decode({124, 222, 64}), bad + bad + "a");
}

TEST(StreamDecoder, AgreesWithTheWholeAndSendsOnlyValidTextWhateverTheIds) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int32_t> bytes(0, 255);  // the first ids are single bytes
  std::uniform_int_distribution<int32_t> any(-2, qwen3()->vocabulary_size() + 2);
  for (int round = 0; round < 2000; ++round) {
    std::vector<int32_t> ids;
    for (int i = 0; i < 24; ++i) ids.push_back(round % 4 == 0 ? any(random) : bytes(random));
    StreamDecoder decoder(qwen3(), round % 2 == 0);
    std::string sent;
    for (const int32_t id : ids) {
      const std::string chunk = decoder.push(id);
      EXPECT_EQ(utf8::first_invalid(chunk), chunk.size());
      sent += chunk;
    }
    sent += decoder.finish();
    EXPECT_EQ(sent, qwen3()->decode(ids, round % 2 == 0));
  }
}

}  // namespace
}  // namespace dure
