#include "model/checkpoint.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "model/load_spec.h"
#include "model/safetensors.h"
#include "model/testing.h"

namespace dure {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::safetensors_file;
using testing::source_path;
using testing::TempFolder;

TEST(Checkpoint, ReadsTheBytesOfTheFile) {
  const TempFolder folder;
  std::string file = safetensors_file(R"({"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},)"
                                      R"("a":{"dtype":"BF16","shape":[2,1],"data_offsets":[0,4]}})",
                                      12);
  for (size_t i = 0; i < 12; ++i) file[file.size() - 12 + i] = static_cast<char>(i);
  folder.write("model.safetensors", file);
  const auto checkpoint = CheckpointReader::open(folder.path());
  ASSERT_EQ(checkpoint->tensors().size(), 2);
  const StoredTensor* b = checkpoint->find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->dtype, DType::f32);
  char bytes[4] = {};
  checkpoint->read(*b, 2, 4, bytes);
  EXPECT_EQ(std::string_view(bytes, 4), std::string_view("\x06\x07\x08\x09", 4));
  EXPECT_EQ(checkpoint->find("c"), nullptr);
}

// ---- folders that are not one

TEST(Checkpoint, AskedForAShardThatIsNotThereItSuspectsTheDownload) {
  const auto folder = source_path("testdata/safetensors/missing-shard");
  const Error error = error_of([&] { CheckpointReader::open(folder); });
  EXPECT_THAT(error.message(), HasSubstr("model-00002-of-00002.safetensors"));
  EXPECT_THAT(error.hint(), HasSubstr("incomplete download?"));
}

constexpr auto one_tensor = R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})";

TEST(Checkpoint, SaysWhatItLookedForWhereThereAreNoWeights) {
  const TempFolder folder;
  EXPECT_THAT(error_of([&] { CheckpointReader::open(folder.path()); }).message(),
              HasSubstr("looked for model.safetensors"));
}

TEST(Checkpoint, RefusesAFolderNamedLikeAFile) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path() / "model.safetensors");
  EXPECT_THAT(error_of([&] { CheckpointReader::open(folder.path()); }).message(),
              HasSubstr("not a regular file"));
}

TEST(Checkpoint, RefusesATensorThatTheIndexLacks) {
  const TempFolder folder;
  folder.write("w.safetensors",
               safetensors_file(R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
                                R"("model.layers.0.self_attn.k_proj.weight":)"
                                R"({"dtype":"BF16","shape":[2],"data_offsets":[4,8]}})",
                                8));
  folder.write("model.safetensors.index.json", R"({"weight_map":{"a":"w.safetensors"}})");
  EXPECT_THAT(error_of([&] { CheckpointReader::open(folder.path()); }).message(),
              HasSubstr("model.layers.0.self_attn.k_proj.weight"));
}

TEST(Checkpoint, RefusesAnIndexThatPromisesMoreThanTheFilesHold) {
  const TempFolder folder;
  folder.write("w.safetensors", safetensors_file(one_tensor, 4));
  folder.write("model.safetensors.index.json",
               R"({"weight_map":{"a":"w.safetensors","b":"w.safetensors"}})");
  EXPECT_THAT(error_of([&] { CheckpointReader::open(folder.path()); }).message(),
              HasSubstr("b should be in w.safetensors"));
}

TEST(Checkpoint, RefusesAnIndexThatLeavesItsFolder) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path() / "inner");
  folder.write("outside.safetensors", safetensors_file(one_tensor, 4));
  for (const char* name : {"../outside.safetensors", "..", "/etc/passwd", ".", "", "a/b"}) {
    folder.write("inner/model.safetensors.index.json", Json{{"weight_map", {{"a", name}}}}.dump());
    EXPECT_THAT(error_of([&] { CheckpointReader::open(folder.path() / "inner"); }).message(),
                HasSubstr("not a file name in this folder"))
        << name;
  }
}

TEST(Checkpoint, ShowsWhatAnIndexHasInPlaceOfAFileName) {
  const TempFolder folder;
  for (const char* value : {"5", "null"}) {
    folder.write("model.safetensors.index.json",
                 fmt::format(R"({{"weight_map":{{"a":{}}}}})", value));
    const Error error = error_of([&] { CheckpointReader::open(folder.path()); });
    EXPECT_EQ(error.field(), "weight_map");
    EXPECT_THAT(error.message(), HasSubstr(fmt::format("puts a into {}, which", value)));
  }
}

TEST(Checkpoint, FollowsTheLinksThatTheHubCacheIsMadeOf) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path() / "blobs");
  std::filesystem::create_directory(folder.path() / "snapshot");
  folder.write("blobs/0123", safetensors_file(one_tensor, 4));
  std::filesystem::create_symlink("../blobs/0123", folder.path() / "snapshot/model.safetensors");
  EXPECT_EQ(CheckpointReader::open(folder.path() / "snapshot")->tensors().size(), 1);
  std::filesystem::remove(folder.path() / "blobs/0123");
  EXPECT_THAT(error_of([&] { CheckpointReader::open(folder.path() / "snapshot"); }).hint(),
              HasSubstr("incomplete download?"));
}

TEST(Checkpoint, NamesATypeThatItDoesNotRead) {
  const TempFolder folder;
  folder.write(
      "model.safetensors",
      safetensors_file(R"({"q":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]}})", 4));
  EXPECT_THAT(error_of([&] { CheckpointReader::open(folder.path()); }).message(),
              HasSubstr("q is of type F8_E4M3"));
}

// ---- headers

struct BadHeader {
  const char* header;
  size_t data_bytes;
  const char* says;
};

constexpr BadHeader bad_headers[] = {
    {"", 0, "not a JSON object"},
    {"[]", 0, "not a JSON object"},
    {R"({"a":1})", 0, "not an object"},
    {R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})", 3, "the file ends"},
    {R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})", 5, "that no tensor owns"},
    {R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[4,8]}})", 8, "leaves a hole"},
    {R"({"a":{"dtype":"BF16","shape":[3],"data_offsets":[0,4]}})", 4, "needs 6 bytes"},
    {R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[4,0]}})", 4, "ends before it begins"},
    {R"({"a":{"dtype":"BF16","shape":[-2],"data_offsets":[0,4]}})", 4, "non-negative"},
    {R"({"a":{"dtype":"BF16","shape":[2.0],"data_offsets":[0,4]}})", 4, "non-negative"},
    {R"({"a":{"dtype":"BF16","shape":[18446744073709551615],"data_offsets":[0,4]}})", 4,
     "non-negative"},
    {R"({"a":{"dtype":"BF16","shape":[4294967296,4294967296],"data_offsets":[0,4]}})", 4,
     "too large"},
    {R"({"a":{"dtype":"XX","shape":[2],"data_offsets":[0,4]}})", 4, "unknown dtype \"XX\""},
    {R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0]}})", 4, "not a pair"},
    {R"({"a":{"dtype":"BF16","data_offsets":[0,4]}})", 4, "shape is not a list"},
    {R"({"a":{"shape":[2],"data_offsets":[0,4]}})", 4, "no dtype"},
    {R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4],"x":1}})", 4, "unknown key \"x\""},
    {R"({"a":{"dtype":"F4","shape":[1],"data_offsets":[0,1]}})", 1, "not whole bytes"},
    {R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
     R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[2,6]}})",
     6, "overlaps"},
    {R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
     R"("a":{"dtype":"BF16","shape":[2],"data_offsets":[4,8]}})",
     8, "appears twice"},
};

TEST(Safetensors, RefusesHeadersThatDoNotDescribeTheFile) {
  for (const BadHeader& bad : bad_headers) {
    const std::string file = safetensors_file(bad.header, bad.data_bytes);
    const Error error = error_of([&] {
      parse_safetensors_header(file, static_cast<int64_t>(file.size()), "w.safetensors");
    });
    EXPECT_EQ(error.code(), ErrorCode::bad_input) << bad.header;
    EXPECT_THAT(error.message(), HasSubstr(bad.says)) << bad.header;
    EXPECT_THAT(error.message(), HasSubstr("w.safetensors")) << bad.header;
  }
}

TEST(Safetensors, RefusesLengthsThatTheFileCannotHold) {
  const TempFolder folder;
  const std::string whole = safetensors_file(one_tensor, 4);
  // Cut anywhere, a file is refused.
  for (size_t length = 0; length < whole.size(); ++length) {
    folder.write("model.safetensors", whole.substr(0, length));
    EXPECT_EQ(error_of([&] { CheckpointReader::open(folder.path()); }).code(), ErrorCode::bad_input)
        << length;
  }
  folder.write("model.safetensors", std::string(8, '\xFF') + "{}");
  EXPECT_THAT(error_of([&] { CheckpointReader::open(folder.path()); }).message(),
              HasSubstr("more than the 100000000"));
}

TEST(Safetensors, AcceptsEmptyTensorsMetadataAndPadding) {
  const std::string file = safetensors_file(
      R"({"__metadata__":{"format":"pt"},"e":{"dtype":"F32","shape":[0,4],"data_offsets":[0,0]},)"
      R"("s":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   )",
      4);
  const auto entries = parse_safetensors_header(file, static_cast<int64_t>(file.size()), "w");
  EXPECT_EQ(entries.size(), 2);
}

// ---- binding

// A copy of a golden whose header is edited as text of the same length or shorter.
void copy_edited(const TempFolder& folder, const std::string& golden, const std::string& from,
                 const std::string& to) {
  const auto source = source_path("testdata/models") / golden;
  std::filesystem::copy_file(source / "config.json", folder.path() / "config.json");
  std::ifstream in(source / "model.safetensors", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  ASSERT_EQ(from.size(), to.size());
  const size_t at = bytes.find(from);
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, from.size(), to);
  folder.write("model.safetensors", bytes);
}

// A copy of a golden that says of one tensor that it has another shape of as many elements.
void copy_reshaped(const TempFolder& folder, const std::string& golden, const std::string& tensor,
                   const Json& shape) {
  const auto source = source_path("testdata/models") / golden;
  std::filesystem::copy_file(source / "config.json", folder.path() / "config.json",
                             std::filesystem::copy_options::overwrite_existing);
  std::ifstream in(source / "model.safetensors", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  Json header = Json::parse(bytes.substr(8, length));
  ASSERT_TRUE(header.contains(tensor)) << tensor;
  header[tensor]["shape"] = shape;
  folder.write("model.safetensors", safetensors_file(header.dump(), 0) + bytes.substr(8 + length));
}

Error bind_error(const TempFolder& folder) {
  return error_of(
      [&] { bind_inventory(load_spec(folder.path()), *CheckpointReader::open(folder.path())); });
}

TEST(BindInventory, NamesAMissingTensorAndTheNearestName) {
  const TempFolder folder;
  copy_edited(folder, "llama", "model.layers.1.mlp.up_proj.weight",
              "model.layers.1.mlp.uq_proj.weight");
  const Error error = bind_error(folder);
  EXPECT_EQ(error.field(), "model.layers.1.mlp.up_proj.weight");
  EXPECT_THAT(error.hint(), HasSubstr("model.layers.1.mlp.uq_proj.weight"));
}

TEST(BindInventory, RefusesAnUntiedModelWithoutAHead) {
  const TempFolder folder;
  copy_edited(folder, "llama-untied", "lm_head.weight", "lm_tail.weight");
  const Error error = bind_error(folder);
  EXPECT_EQ(error.field(), "lm_head.weight");
  EXPECT_THAT(error.message(), HasSubstr("model.safetensors: no lm_head.weight"));
}

TEST(BindInventory, NamesAShapeThatTheConfigContradicts) {
  const TempFolder folder;
  copy_edited(folder, "llama", R"("model.norm.weight":{"dtype":"BF16","shape":[64])",
              R"("model.norm.weight":{"dtype":"BF16","shape":[64])");
  Json config = read_json_file(folder.path() / "config.json");
  config["intermediate_size"] = 144;
  folder.write("config.json", config.dump());
  EXPECT_THAT(bind_error(folder).message(),
              HasSubstr("model.safetensors: model.layers.0.mlp.gate_proj.weight is [160, 64], "
                        "but config.json makes it [144, 64]"));
}

TEST(BindInventory, RefusesSizesOfOneThatNoReleaseStores) {
  struct Case {
    const char* golden;
    const char* tensor;
    Json shape;
  };
  const Case refused[] = {
      {"llama", "model.norm.weight", {64, 1, 1, 1}},
      {"llama", "model.norm.weight", {1, 64}},
      {"qwen2-moe", "model.layers.1.mlp.shared_expert_gate.weight", {64, 1}},
      {"qwen2-moe", "model.layers.1.mlp.shared_expert_gate.weight", {64}},
      {"qwen3-next", "model.layers.0.linear_attn.conv1d.weight", {1, 160, 4}},
      {"kimi-linear", "model.layers.0.self_attn.A_log", {4, 1}},
  };
  const Case accepted[] = {
      {"qwen3-next", "model.layers.0.linear_attn.conv1d.weight", {160, 1, 4}},
      {"qwen3-next", "model.layers.0.linear_attn.conv1d.weight", {160, 4}},
      {"kimi-linear", "model.layers.0.self_attn.A_log", {1, 1, 4, 1}},
      {"kimi-linear", "model.layers.0.self_attn.A_log", {4}},
      {"ernie4-5-moe", "model.layers.1.mlp.moe_statics.e_score_correction_bias", {1, 10}},
  };
  const TempFolder folder;
  for (const Case& each : refused) {
    copy_reshaped(folder, each.golden, each.tensor, each.shape);
    EXPECT_EQ(bind_error(folder).field(), each.tensor) << each.shape;
  }
  for (const Case& each : accepted) {
    copy_reshaped(folder, each.golden, each.tensor, each.shape);
    const auto checkpoint = CheckpointReader::open(folder.path());
    EXPECT_NO_THROW(bind_inventory(load_spec(folder.path()), *checkpoint)) << each.tensor;
  }
}

TEST(BindInventory, NamesATensorThatTheModelDoesNotHave) {
  const TempFolder folder;
  copy_edited(folder, "llama", "{", "{");
  Json config = read_json_file(folder.path() / "config.json");
  config["num_hidden_layers"] = 2;
  folder.write("config.json", config.dump());
  EXPECT_THAT(bind_error(folder).message(), HasSubstr("holds model.layers.2."));
}

TEST(BindInventory, AcceptsASpareHeadAndOldBuffersInATiedCheckpoint) {
  const TempFolder folder;
  Json config = Json::parse(R"({"model_type":"llama","hidden_size":4,"num_hidden_layers":1,
    "num_attention_heads":1,"intermediate_size":4,"vocab_size":8,"max_position_embeddings":16,
    "tie_word_embeddings":true})");
  folder.write("config.json", config.dump());
  const ModelSpec spec = load_spec(folder.path());
  Json header = Json::object();
  int64_t offset = 0;
  const auto add = [&](const std::string& name, const std::vector<int64_t>& shape) {
    int64_t bytes = 2;
    for (int64_t size : shape) bytes *= size;
    header[name] = {
        {"dtype", "BF16"}, {"shape", shape}, {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  };
  for (const Weight& weight : inventory(spec)) add(weight.name, weight.shape);
  add("model.layers.0.self_attn.rotary_emb.inv_freq", {2});
  add("lm_head.weight", {8, 4});
  folder.write("model.safetensors", safetensors_file(header.dump(), static_cast<size_t>(offset)));
  EXPECT_EQ(bind_inventory(spec, *CheckpointReader::open(folder.path())).size(),
            inventory(spec).size());
}

}  // namespace
}  // namespace dure
