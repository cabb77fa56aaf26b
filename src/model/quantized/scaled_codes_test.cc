#include "model/quantized/scaled_codes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <cstring>

#include "model/testing.h"

namespace dure {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::TempFolder;

template <typename Number>
std::string raw(const std::vector<Number>& numbers) {
  std::string bytes(numbers.size() * sizeof(Number), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

class Folder {
 public:
  Folder& add(const std::string& name, const std::string& dtype, const std::vector<int64_t>& shape,
              const std::string& bytes) {
    header_ += fmt::format(R"({}"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                           header_.empty() ? "" : ",", name, dtype, fmt::join(shape, ","),
                           data_.size(), data_.size() + bytes.size());
    data_ += bytes;
    return *this;
  }
  std::unique_ptr<CheckpointReader> open(const std::string& quantization = "") const {
    if (!quantization.empty()) {
      folder_.write("config.json", R"({"quantization_config":)" + quantization + "}");
    }
    const std::string header = "{" + header_ + "}";
    std::string file = raw<uint64_t>({header.size()}) + header + data_;
    folder_.write("model.safetensors", file);
    return CheckpointReader::open(folder_.path());
  }

 private:
  TempFolder folder_;
  std::string header_, data_;
};

std::vector<float> all_of(const CheckpointReader& checkpoint, const std::string& name) {
  const StoredTensor* tensor = checkpoint.find(name);
  if (tensor == nullptr || tensor->codes == nullptr) return {};
  const ScaledCodes& codes = *tensor->codes;
  std::vector<float> values(static_cast<size_t>(codes.outputs * codes.inputs));
  read_rectangle(checkpoint, codes, {0, codes.outputs}, {0, codes.inputs}, values.data());
  // Any part of it is the same numbers.
  const Range rows{codes.outputs / 2, codes.outputs};
  const Range columns{codes.inputs / 2, codes.inputs - 1};
  std::vector<float> part(static_cast<size_t>(rows.size() * columns.size()));
  read_rectangle(checkpoint, codes, rows, columns, part.data());
  for (int64_t row = 0; row < rows.size(); ++row) {
    for (int64_t i = 0; i < columns.size(); ++i) {
      EXPECT_EQ(part[static_cast<size_t>(row * columns.size() + i)],
                values[static_cast<size_t>((rows.begin + row) * codes.inputs + columns.begin + i)]);
    }
  }
  return values;
}

// Stored minus one, as it is, and labelled wrongly: a symmetric file has its zero in the middle.
TEST(ScaledCodes, OfGptqHaveTheirZeroInTheMiddleWhateverTheFileIsCalled) {
  struct Case {
    uint32_t zeros;
    const char* format;
  };
  for (const Case& each :
       {Case{0x77777777, "gptq"}, Case{0x88888888, "gptq_v2"}, Case{0x88888888, "gptq"}}) {
    Folder folder;
    folder.add("m.qweight", "I32", {1, 8}, raw<uint32_t>(std::vector<uint32_t>(8, 0x99999999)));
    folder.add("m.qzeros", "I32", {1, 1}, raw<uint32_t>({each.zeros}));
    folder.add("m.scales", "F16", {1, 8}, raw<uint16_t>(std::vector<uint16_t>(8, 0x3800)));
    const auto checkpoint = folder.open(fmt::format(
        R"({{"quant_method":"gptq","bits":4,"sym":true,"checkpoint_format":"{}"}})", each.format));
    EXPECT_EQ(all_of(*checkpoint, "m.weight"), std::vector<float>(64, 0.5f)) << each.format;
  }
}

TEST(ScaledCodes, OfGptqFollowTheGroupOfEachInput) {
  Folder folder;
  folder.add("m.qweight", "I32", {1, 8}, raw<uint32_t>(std::vector<uint32_t>(8, 0x76543210)));
  folder.add("m.qzeros", "I32", {2, 1}, raw<uint32_t>({0x00000000, 0x33333333}));
  std::vector<uint16_t> scales(8, 0x3c00);
  scales.insert(scales.end(), 8, 0x4000);
  folder.add("m.scales", "F16", {2, 8}, raw(scales));
  folder.add("m.g_idx", "I32", {8}, raw<int32_t>({0, 1, 0, 1, 0, 1, 0, 1}));
  const auto checkpoint = folder.open(R"({"quant_method":"gptq","bits":4,"sym":false})");
  std::vector<float> values = all_of(*checkpoint, "m.weight");
  values.resize(8);
  EXPECT_THAT(values, ElementsAre(-1, -6, 1, -2, 3, 2, 5, 6));
}

TEST(ScaledCodes, OfAwqAreInTheirOwnOrderOfOutputs) {
  Folder folder;
  folder.add("m.qweight", "I32", {2, 1}, raw<uint32_t>({0x76543210, 0x76543210}));
  folder.add("m.qzeros", "I32", {1, 1}, raw<uint32_t>({0x00000001}));
  folder.add("m.scales", "F16", {1, 8}, raw<uint16_t>(std::vector<uint16_t>(8, 0x3c00)));
  const auto checkpoint = folder.open(R"({"quant_method":"awq","bits":4})");
  // Place 0 1 2 3 4 5 6 7 of a word is output 0 2 4 6 1 3 5 7; output 0 has zero point 1.
  EXPECT_THAT(all_of(*checkpoint, "m.weight"),
              ElementsAre(-1, -1, 4, 4, 1, 1, 5, 5, 2, 2, 6, 6, 3, 3, 7, 7));
}

TEST(ScaledCodes, OfBlocksThatTheSizesCutHaveTheScaleOfTheirBlock) {
  Folder folder;
  folder.add("m.weight", "F8_E4M3", {3, 5}, std::string(15, 0x38));  // 1.0
  folder.add("m.weight_scale_inv", "F32", {2, 3}, raw<float>({1, 2, 3, 4, 5, 6}));
  const auto checkpoint = folder.open(R"({"quant_method":"fp8","weight_block_size":[2,2]})");
  EXPECT_THAT(all_of(*checkpoint, "m.weight"),
              ElementsAre(1, 1, 2, 2, 3, 1, 1, 2, 2, 3, 4, 4, 5, 5, 6));
}

TEST(ScaledCodes, OfPairsAreScaledByGroupAndFactor) {
  for (const bool modelopt : {true, false}) {
    Folder folder;
    std::string codes(8, '\0');
    for (size_t i = 0; i < 8; ++i) codes[i] = static_cast<char>((2 * i) | (2 * i + 1) << 4);
    folder.add(modelopt ? "m.weight" : "m.weight_packed", "U8", {1, 8}, codes);
    folder.add("m.weight_scale", "F8_E4M3", {1, 1}, std::string(1, 0x40));  // 2
    if (modelopt) folder.add("m.weight_scale_2", "F32", {}, raw<float>({0.5f}));
    if (!modelopt) folder.add("m.weight_global_scale", "F32", {1}, raw<float>({2.0f}));
    folder.add("m.input_scale", "F32", {}, raw<float>({9.0f}));
    const auto checkpoint = folder.open();
    EXPECT_EQ(checkpoint->tensors().size(), 1u);
    EXPECT_THAT(all_of(*checkpoint, "m.weight"),
                ElementsAre(0, 0.5f, 1, 1.5f, 2, 3, 4, 6, 0, -0.5f, -1, -1.5f, -2, -3, -4, -6));
  }
}

TEST(ScaledCodes, AreRefusedWhereAPartIsMissingOrDoesNotFit) {
  Folder alone;
  alone.add("m.weight", "F8_E4M3", {2, 2}, std::string(4, 0));
  EXPECT_THAT(error_of([&] { alone.open(); }).message(), HasSubstr("m.weight_scale is missing"));
  Folder other;
  other.add("m.weight", "F8_E4M3", {2, 2}, std::string(4, 0));
  other.add("m.weight_scale_inv", "F32", {3, 1}, raw<float>({1, 1, 1}));
  EXPECT_THAT(error_of([&] { other.open(); }).message(),
              HasSubstr("m.weight_scale_inv: is [3, 1]"));
  Folder wild;
  wild.add("m.qweight", "I32", {1, 8}, std::string(32, 0));
  wild.add("m.scales", "F16", {1, 8}, std::string(16, 0));
  wild.add("m.g_idx", "I32", {8}, raw<int32_t>({0, 0, 0, 0, 0, 0, 0, 7}));
  const auto checkpoint = wild.open(R"({"quant_method":"gptq","bits":4})");
  EXPECT_EQ(error_of([&] { all_of(*checkpoint, "m.weight"); }).field(), "m.g_idx");
}

}  // namespace
}  // namespace dure
