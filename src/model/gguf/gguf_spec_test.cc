#include "model/gguf/gguf_spec.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "gguf/testing.h"
#include "model/checkpoint.h"
#include "model/config_testing.h"
#include "model/load_spec.h"
#include "model/testing.h"

namespace dure {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_of;
using testing::GgufBytes;
using ::testing::HasSubstr;
using testing::raw;
using testing::source_path;
using testing::TempFolder;

// Files hold fp32 where config.json has decimals.
double rounded(double value) {
  return std::stod(fmt::format("{:.6g}", value));
}

void round(RopeSpec& rope) {
  rope.theta = rounded(rope.theta);
  rope.factor = rounded(rope.factor);
  rope.attention_factor = rounded(rope.attention_factor);
}

// What config.json and the file may say in different words.
void equalize(ModelSpec& spec) {
  for (LayerSpec& layer : spec.layers) {
    if (auto* gqa = std::get_if<GqaSpec>(&layer.attention)) {
      round(gqa->rope);
      gqa->rope.interleaved = false;  // llama: with rows in that order
      if (gqa->rope.kind == RopeKind::divided || gqa->rope.kind == RopeKind::llama3) gqa->rope = {};
    }
    if (auto* mla = std::get_if<MlaSpec>(&layer.attention)) {
      round(mla->rope);
      mla->scale = rounded(mla->scale);
    }
    if (auto* moe = std::get_if<MoeFfn>(&layer.ffn)) moe->router.scale = rounded(moe->router.scale);
  }
}

std::vector<fs::path> recorded() {
  std::vector<fs::path> folders;
  for (const char* root : {"testdata/models", "../shared/data/golden/models"}) {
    std::error_code absent;
    size_t found = 0;
    for (const auto& entry : fs::directory_iterator(source_path(root), absent)) {
      if (!entry.path().filename().string().starts_with("gguf-")) continue;
      folders.push_back(entry.path());
      ++found;
    }
    std::printf("%s: %zu models in GGUF\n", root, found);
  }
  return folders;
}

TEST(GgufSpec, SaysWhatTheConfigOfTheSameModelSays) {
  const auto folders = recorded();
  ASSERT_GE(folders.size(), 3u);
  for (const fs::path& folder : folders) {
    SCOPED_TRACE(folder.string());
    const Json facts = read_json_file(folder / "case.json");
    ModelSpec expected = spec_from_config(facts["hf_config_of_this_model"], "case.json");
    ModelSpec made = load_spec(folder);
    const auto checkpoint = CheckpointReader::open(folder);
    const StoredTensor* divisors = checkpoint->find("rope_freqs.weight");
    EXPECT_EQ(total_parameters(made) + (divisors == nullptr ? 0 : divisors->shape[0]),
              facts["params_total"].get<int64_t>());
    equalize(expected);
    equalize(made);
    EXPECT_EQ(made.family, expected.family);
    EXPECT_EQ(made.hidden, expected.hidden);
    EXPECT_EQ(made.vocab, expected.vocab);
    EXPECT_EQ(made.context, expected.context);
    EXPECT_FLOAT_EQ(static_cast<float>(made.norm_eps), static_cast<float>(expected.norm_eps));
    EXPECT_EQ(made.norms_after, expected.norms_after);
    EXPECT_FALSE(made.norms_plus_one);
    EXPECT_EQ(made.embedding_scale, expected.embedding_scale);
    EXPECT_EQ(made.tied_embeddings, expected.tied_embeddings);
    ASSERT_EQ(made.layers.size(), expected.layers.size());
    for (size_t i = 0; i < made.layers.size(); ++i) {
      EXPECT_EQ(made.layers[i].attention, expected.layers[i].attention) << "layer " << i;
      EXPECT_EQ(made.layers[i].ffn, expected.layers[i].ffn) << "layer " << i;
    }
    std::map<std::string, int> types;
    for (const StoredTensor& tensor : checkpoint->tensors()) {
      std::string type(tensor.blocks ? to_string(*tensor.blocks) : to_string(tensor.dtype));
      std::transform(type.begin(), type.end(), type.begin(), [](char c) {
        return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      });
      ++types[type];
    }
    EXPECT_EQ(Json(types), facts["gguf_tensor_types"].get<decltype(types)>());
    EXPECT_EQ(bind_inventory(made, *checkpoint).size(), inventory(made).size());
  }
}

GgufBytes metadata() {
  GgufBytes bytes;
  bytes.text("general.architecture", "llama").u32("llama.block_count", 1);
  bytes.u32("llama.context_length", 64).u32("llama.embedding_length", 32);
  bytes.u32("llama.feed_forward_length", 64).u32("llama.attention.head_count", 2);
  bytes.f32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  bytes.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "qwen2");
  return bytes;
}

void add_tensors(GgufBytes& bytes) {
  constexpr uint32_t f32 = 0;
  const auto matrix = [&](const char* name, uint64_t inputs, uint64_t outputs) {
    bytes.tensor(name, {inputs, outputs}, f32, 4 * inputs * outputs);
  };
  matrix("token_embd.weight", 32, 8);
  bytes.tensor("output_norm.weight", {32}, f32, 128);
  bytes.tensor("blk.0.attn_norm.weight", {32}, f32, 128);
  bytes.tensor("blk.0.ffn_norm.weight", {32}, f32, 128);
  for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_output"}) {
    matrix(fmt::format("blk.0.{}.weight", name).c_str(), 32, 32);
  }
  matrix("blk.0.ffn_gate.weight", 32, 64);
  matrix("blk.0.ffn_up.weight", 32, 64);
  matrix("blk.0.ffn_down.weight", 64, 32);
}

GgufBytes small_llama() {
  GgufBytes bytes = metadata();
  bytes.texts("tokenizer.ggml.tokens", {"a", "b", "ab"}).texts("tokenizer.ggml.merges", {"a b"});
  add_tensors(bytes);
  return bytes;
}

Error refusal_of(const GgufBytes& bytes) {
  const TempFolder folder;
  folder.write("m.gguf", bytes.file());
  return error_of([&] { load_spec(folder.path() / "m.gguf"); });
}

TEST(GgufSpec, OfASmallFileIsRead) {
  const TempFolder folder;
  GgufBytes bytes = small_llama();
  bytes.numbers<uint32_t>("tokenizer.ggml.token_type", 4, {1, 1, 3});
  bytes.value("tokenizer.ggml.eos_token_id", 10, raw<uint64_t>(2));
  folder.write("m.gguf", bytes.file());
  for (const fs::path& model : {folder.path() / "m.gguf", folder.path()}) {
    const ModelSpec spec = load_spec(model);
    EXPECT_EQ(spec.family, "llama");
    EXPECT_EQ(spec.vocab, 8);
    EXPECT_TRUE(spec.tied_embeddings);
    EXPECT_TRUE(std::get<GqaSpec>(spec.layers[0].attention).rope.interleaved);
    EXPECT_THAT(spec.eos_ids, ElementsAre(2));
    EXPECT_EQ(spec.dtype, DType::f32);
    EXPECT_EQ(bind_inventory(spec, *CheckpointReader::open(model)).size(), 11u);
  }
}

TEST(GgufSpec, RefusesMetadataOfAnUnexpectedKindNamingTheKey) {
  GgufBytes none;
  none.text("general.architecture", "llama");
  add_tensors(none);
  EXPECT_EQ(refusal_of(none).field(), "llama.block_count");
  GgufBytes text;
  text.text("general.architecture", "llama").text("llama.block_count", "2");
  EXPECT_THAT(refusal_of(text).message(),
              HasSubstr("llama.block_count: a text where an integer was expected"));
  GgufBytes merge = metadata();
  merge.texts("tokenizer.ggml.tokens", {"a", "b"}).texts("tokenizer.ggml.merges", {"ab"});
  add_tensors(merge);
  EXPECT_EQ(refusal_of(merge).field(), "tokenizer.ggml.merges");
  GgufBytes bos = small_llama();
  bos.u32("tokenizer.ggml.bos_token_id", 99);
  EXPECT_EQ(refusal_of(bos).field(), "tokenizer.ggml.bos_token_id");
}

TEST(GgufSpec, NamesTheKeyOfTheFileWhereAValueIsOutOfRange) {
  GgufBytes bytes;
  bytes.text("general.architecture", "llama").u32("llama.block_count", 1'000'000);
  bytes.u32("llama.context_length", 64).u32("llama.embedding_length", 32);
  bytes.u32("llama.feed_forward_length", 64).u32("llama.attention.head_count", 2);
  add_tensors(bytes);
  EXPECT_EQ(refusal_of(bytes).field(), "llama.block_count");
}

TEST(GgufSpec, RefusesWhatItDoesNotUnderstand) {
  GgufBytes bert;
  bert.text("general.architecture", "bert");
  EXPECT_THAT(refusal_of(bert).message(), HasSubstr("unknown family \"bert\""));
  GgufBytes setting = small_llama();
  setting.f32("llama.attention.novelty", 2.0f);
  EXPECT_EQ(refusal_of(setting).field(), "llama.attention.novelty");
  GgufBytes scaling = small_llama();
  scaling.text("llama.rope.scaling.type", "longrope");
  EXPECT_EQ(refusal_of(scaling).field(), "llama.rope.scaling.type");
  GgufBytes projector;
  projector.text("general.architecture", "clip").text("general.type", "mmproj");
  EXPECT_THAT(refusal_of(projector).message(), HasSubstr("general.type"));
}

// A file of one part of two, of which each has one of the tensors.
std::string part(int number, int count) {
  GgufBytes bytes = number == 0 ? metadata() : GgufBytes();
  if (number != 0) bytes.text("general.architecture", "llama");
  bytes.value("split.no", 2, raw(static_cast<uint16_t>(number)));
  bytes.value("split.count", 2, raw(static_cast<uint16_t>(count)));
  bytes.value("split.tensors.count", 5, raw<int32_t>(2));
  bytes.tensor(number == 0 ? "token_embd.weight" : "output_norm.weight", {32}, 0, 128);
  return bytes.file();
}

// Sixteen codes in the low halves of bytes, then sixteen in the high ones.
TEST(GgufTensors, AreReadInTheirBlocks) {
  const auto checkpoint = CheckpointReader::open(source_path("testdata/gguf/mxfp4-one-block.gguf"));
  const StoredTensor& tensor = checkpoint->tensors().at(0);
  ASSERT_EQ(tensor.blocks, BlockFormat::mxfp4);
  EXPECT_THAT(tensor.shape, ElementsAre(32));
  ASSERT_EQ(tensor.bytes, 17);
  std::vector<std::byte> bytes(17);
  checkpoint->read(tensor, 0, 17, bytes.data());
  std::vector<float> values(32);
  decode_blocks(*tensor.blocks, bytes.data(), 1, values.data());
  std::vector<float> expected = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  for (int i = 15; i >= 0; --i) expected.push_back(expected[static_cast<size_t>(i)]);
  EXPECT_EQ(values, expected);
}

TEST(GgufParts, AreOneModelUnderTheirNames) {
  const TempFolder folder;
  folder.write("m-00001-of-00002.gguf", part(0, 2));
  folder.write("m-00002-of-00002.gguf", part(1, 2));
  const GgufModel model = open_gguf(*gguf_of(folder.path()));
  EXPECT_EQ(model.parts.size(), 2u);
  EXPECT_TRUE(model.has("token_embd.weight"));
  EXPECT_EQ(model.find("output_norm.weight")->part, 1);
  const Error second = error_of([&] { open_gguf(folder.path() / "m-00002-of-00002.gguf"); });
  EXPECT_THAT(second.message(), HasSubstr("part 2 of 2"));
  EXPECT_THAT(second.hint(), HasSubstr("m-00001-of-00002.gguf"));
}

TEST(GgufParts, AreRefusedWhereOneIsMissingOrOfAnotherModel) {
  const TempFolder folder;
  folder.write("m-00001-of-00002.gguf", part(0, 2));
  EXPECT_THAT(error_of([&] { open_gguf(*gguf_of(folder.path())); }).message(),
              HasSubstr("m-00002-of-00002.gguf: missing"));
  folder.write("m-00002-of-00002.gguf", part(1, 3));
  EXPECT_THAT(error_of([&] { open_gguf(*gguf_of(folder.path())); }).message(),
              HasSubstr("part 2 of 3"));
  folder.write("m-00002-of-00002.gguf", part(0, 2));
  EXPECT_THAT(error_of([&] { open_gguf(*gguf_of(folder.path())); }).message(),
              HasSubstr("part 1 of 2"));
}

TEST(GgufParts, MustNotBeConcatenatedOrRenamed) {
  const TempFolder folder;
  folder.write("j.gguf", part(0, 2) + part(1, 2));
  EXPECT_THAT(error_of([&] { load_spec(folder.path() / "j.gguf"); }).message(),
              AllOf(HasSubstr("part 1 of 2"), HasSubstr("must not be concatenated")));
  folder.write("j.gguf", part(0, 2));
  EXPECT_THAT(error_of([&] { load_spec(folder.path()); }).message(), HasSubstr("not named so"));
  folder.write("k.gguf", part(0, 1));
  EXPECT_THAT(error_of([&] { load_spec(folder.path()); }).message(), HasSubstr("2 GGUF files"));
}

}  // namespace
}  // namespace dure
