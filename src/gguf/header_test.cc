#include "gguf/header.h"

#include <gmock/gmock.h>

#include <cstring>
#include <string>

#include "base/error.h"
#include "gguf/testing.h"
#include "gguf/vocabulary.h"

namespace dure {
namespace {

using dure::testing::GgufBytes;
using dure::testing::raw;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

GgufHeader parse(const std::string& file) {
  const auto read = [&](int64_t offset, int64_t bytes, void* to) {
    std::memcpy(to, file.data() + offset, static_cast<size_t>(bytes));
  };
  return parse_gguf_header(read, static_cast<int64_t>(file.size()), "a.gguf");
}

std::string refusal(const std::string& file) {
  try {
    parse(file);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_FALSE(error.hint().empty());
    return error.message();
  }
  return "nothing was thrown";
}

GgufBytes small() {
  GgufBytes bytes;
  bytes.text("general.architecture", "llama").u32("llama.block_count", 2);
  bytes.tensor("a", {32, 3, 2}, 8, 6 * 34).tensor("b", {5}, 0, 20);
  return bytes;
}

TEST(GgufHeader, HoldsValuesAndTensorsOfBothVersions) {
  for (uint32_t version : {2, 3}) {
    const GgufHeader header = parse(small().file(version));
    EXPECT_EQ(header.version, static_cast<int>(version));
    EXPECT_EQ(header.metadata.text("general.architecture"), "llama");
    EXPECT_EQ(header.metadata.integer("llama.block_count", 1, 10), 2);
    ASSERT_EQ(header.tensors.size(), 2u);
    EXPECT_THAT(header.tensors[0].shape, ElementsAre(2, 3, 32));
    EXPECT_EQ(std::get<BlockFormat>(header.tensors[0].type), BlockFormat::q8_0);
    EXPECT_EQ(header.tensors[0].bytes, 6 * 34);
    EXPECT_EQ(header.tensors[1].offset, header.data_begin + 224);
    EXPECT_FALSE(header.another_file_follows);
  }
}

TEST(GgufHeader, TakesIntegersOfEveryWidth) {
  GgufBytes bytes;
  bytes.value("u8", 0, raw<uint8_t>(200)).value("i8", 1, raw<int8_t>(-2));
  bytes.value("u16", 2, raw<uint16_t>(3)).value("i16", 3, raw<int16_t>(-4));
  bytes.value("i32", 5, raw<int32_t>(-5)).value("u64", 10, raw<uint64_t>(6));
  bytes.value("i64", 11, raw<int64_t>(-7)).numbers<uint32_t>("list", 4, {1, 4000000000});
  bytes.value("huge", 10, raw<uint64_t>(~uint64_t{0}));
  const GgufMetadata metadata = parse(bytes.file()).metadata;
  const auto of = [&](const char* key) { return metadata.integer(key, -1000, 1000); };
  EXPECT_THAT((std::vector{of("u8"), of("i8"), of("u16"), of("i16"), of("i32"), of("u64")}),
              ElementsAre(200, -2, 3, -4, -5, 6));
  EXPECT_EQ(of("i64"), -7);
  EXPECT_THAT(metadata.integers("list", 0, INT64_MAX), ElementsAre(1, 4000000000));
  EXPECT_THROW(metadata.integer("huge", 0, INT64_MAX), Error);
}

TEST(GgufHeader, RefusesWhatIsNoGgufFile) {
  EXPECT_THAT(refusal("GGUF"), HasSubstr("too few"));
  EXPECT_THAT(refusal(std::string(64, 'x')), HasSubstr("does not begin"));
  EXPECT_THAT(refusal(small().file(1)), HasSubstr("version 1"));
  EXPECT_THAT(refusal(small().file(3u << 24)), HasSubstr("big-endian"));
}

TEST(GgufHeader, RefusesMoreThanFourDimensionsByName) {
  EXPECT_THAT(refusal(GgufBytes().tensor("t", std::vector<uint64_t>(9, 1), 0, 4).file()),
              AllOf(HasSubstr("t: 9 dimensions"), HasSubstr("4")));
  GgufBytes million;
  million.tensor("t", {4}, 0, 16);
  std::string file = million.file();
  const size_t at = file.find(std::string("t") + raw<uint32_t>(1)) + 1;
  file.replace(at, 4, raw<uint32_t>(1'000'000));
  EXPECT_THAT(refusal(file), HasSubstr("1000000 dimensions"));
  EXPECT_THAT(refusal(GgufBytes().tensor("t", {}, 0, 4).file()), HasSubstr("0 dimensions"));
}

TEST(GgufHeader, RefusesSizesThatOverflowOrLeaveTheFile) {
  const uint64_t much = uint64_t{1} << 40;
  EXPECT_THAT(refusal(GgufBytes().tensor("t", {much, much}, 0, 16).file()), HasSubstr("dimension"));
  EXPECT_THAT(refusal(GgufBytes().tensor("t", {0}, 0, 16).file()), HasSubstr("dimension of 0"));
  EXPECT_THAT(refusal(GgufBytes().tensor("t", {1000}, 0, 16).file()), HasSubstr("beyond the end"));
  EXPECT_THAT(refusal(GgufBytes().tensor_at("t", {4}, 0, 1 << 20, std::string(16, 0)).file()),
              HasSubstr("beyond the end"));
  EXPECT_THAT(refusal(GgufBytes().tensor_at("t", {4}, 0, ~uint64_t{31}, "").file()),
              HasSubstr("beyond the end"));
  EXPECT_THAT(refusal(GgufBytes().tensor_at("t", {4}, 0, 8, std::string(64, 0)).file()),
              HasSubstr("not a multiple of 32"));
  EXPECT_THAT(refusal(GgufBytes().tensor("t", {33}, 8, 68).file()), HasSubstr("no whole blocks"));
  std::string cut = small().file();
  cut.resize(cut.size() - 40);
  EXPECT_THAT(refusal(cut), HasSubstr("beyond the end"));
  cut.resize(60);
  EXPECT_THAT(refusal(cut), HasSubstr("ends within"));
}

TEST(GgufHeader, RefusesListsThatTheFileCannotHold) {
  GgufBytes lengths;
  lengths.value("k", 9, raw<uint32_t>(4) + raw(~uint64_t{0}));
  EXPECT_THAT(refusal(lengths.file()), HasSubstr("k: 18446744073709551615 entries"));
  GgufBytes text;
  text.value("k", 8, raw(~uint64_t{0}));
  EXPECT_THAT(refusal(text.file()), HasSubstr("k: a text of"));
  GgufBytes nested;
  nested.value("k", 9, raw<uint32_t>(9) + raw<uint64_t>(0));
  EXPECT_THAT(refusal(nested.file()), HasSubstr("list of lists"));
  EXPECT_THAT(refusal(GgufBytes().value("k", 13, "").file() + std::string(64, 0)),
              HasSubstr("unknown kind 13"));
}

TEST(GgufHeader, RefusesNamesThatOccurTwice) {
  EXPECT_THAT(refusal(GgufBytes().u32("k", 1).u32("k", 1).file()), HasSubstr("k: occurs twice"));
  EXPECT_THAT(refusal(GgufBytes().tensor("t", {4}, 0, 16).tensor("t", {4}, 0, 16).file()),
              HasSubstr("t: there are two"));
  EXPECT_THAT(refusal(GgufBytes()
                          .tensor_at("a", {16}, 0, 0, std::string(64, 0))
                          .tensor_at("b", {4}, 0, 32, "")
                          .file()),
              HasSubstr("b: its data overlaps"));
  EXPECT_THAT(refusal(GgufBytes().tensor("t", {4}, 4, 16).file()), HasSubstr("of type 4"));
  EXPECT_THAT(refusal(GgufBytes().u32("a\nb", 1).file()), HasSubstr("not readable"));
}

TEST(GgufHeader, SeesAFileThatWasJoinedToItsEnd) {
  EXPECT_TRUE(parse(small().file() + small().file()).another_file_follows);
  EXPECT_FALSE(parse(small().file() + std::string(100, 'x')).another_file_follows);
}

TEST(GgufMetadata, NamesFileAndKeyOfWhatIsMissingOrOfAnotherKind) {
  const GgufMetadata metadata =
      parse(GgufBytes().text("n", "two").f32("x", 0.5f).boolean("b", true).file()).metadata;
  const auto message = [](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.message();
    }
    return std::string("nothing was thrown");
  };
  EXPECT_EQ(message([&] { metadata.integer("n", 0, 9); }),
            "a.gguf: n: a text where an integer was expected");
  EXPECT_EQ(message([&] { metadata.integer("m", 0, 9); }), "a.gguf: m: missing");
  EXPECT_EQ(message([&] { metadata.number("x", 1.0, 2.0); }), "a.gguf: x: 0.5 is outside 1 to 2");
  EXPECT_EQ(message([&] { metadata.text("b"); }), "a.gguf: b: a boolean where a text was expected");
}

GgufBytes vocabulary() {
  GgufBytes bytes;
  bytes.text("tokenizer.ggml.model", "gpt2").texts("tokenizer.ggml.tokens", {"a", "b", "ab"});
  return bytes;
}

std::string vocabulary_refusal(const GgufBytes& bytes) {
  const GgufMetadata metadata = parse(bytes.file()).metadata;
  try {
    read_gguf_vocabulary(metadata);
  } catch (const Error& error) {
    return error.message();
  }
  return "nothing was thrown";
}

TEST(GgufVocabulary, RefusesWhatDoesNotFitItsTokensNamingTheKey) {
  EXPECT_THAT(vocabulary_refusal(vocabulary().u32("tokenizer.ggml.bos_token_id", 3)),
              HasSubstr("tokenizer.ggml.bos_token_id: 3 of 3 tokens"));
  EXPECT_THAT(vocabulary_refusal(vocabulary().texts("tokenizer.ggml.merges", {"a b", "ab"})),
              HasSubstr("tokenizer.ggml.merges: entry 1"));
  EXPECT_THAT(
      vocabulary_refusal(vocabulary().numbers<int32_t>("tokenizer.ggml.token_type", 5, {1})),
      HasSubstr("tokenizer.ggml.token_type: 1 entries for 3 tokens"));
  EXPECT_THAT(vocabulary_refusal(GgufBytes().text("tokenizer.ggml.model", "gpt2")),
              HasSubstr("tokenizer.ggml.tokens: missing"));
}

TEST(GgufVocabulary, TakesTokenTypesOfAnyIntegerWidth) {
  GgufBytes bytes = vocabulary();
  bytes.numbers<uint32_t>("tokenizer.ggml.token_type", 4, {1, 3, 6});
  bytes.u32("tokenizer.ggml.eos_token_id", 1).u32("tokenizer.ggml.eot_token_id", 2);
  bytes.value("tokenizer.ggml.bos_token_id", 10, raw<uint64_t>(0));
  const GgufVocabulary made = read_gguf_vocabulary(parse(bytes.file()).metadata);
  EXPECT_THAT(made.types,
              ElementsAre(GgufTokenType::normal, GgufTokenType::control, GgufTokenType::byte));
  EXPECT_THAT(made.ends, ElementsAre(1, 2));
  EXPECT_EQ(made.bos, 0);
}

}  // namespace
}  // namespace dure
