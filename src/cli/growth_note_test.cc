#include "cli/growth_note.h"

#include <gmock/gmock.h>

#include <string>

#include "cli/testing.h"
#include "model/load_spec.h"

namespace dure {
namespace {

using testing::data;
using ::testing::HasSubstr;

std::string note_of(const std::string& model, Arithmetic arithmetic) {
  const std::string path = data("models/" + model);
  const ModelSpec spec = load_spec(path);
  const auto checkpoint = CheckpointReader::open(path);
  return growth_note(bind_inventory(spec, *checkpoint), *checkpoint, spec, arithmetic);
}

// Three layers of 3 × 96 × 176 numbers in NVFP4: 4 bits each, with 16 a scale of a byte, and a
// factor of 4 bytes for each matrix: 85,572 bytes. Attention is stored in bf16. Of codes of 8 bits
// at most 32 inputs have a scale of 2 bytes.
TEST(GrowthNote, SaysWhatQuantizedMatricesBecomeForWhatTheFileHolds) {
  EXPECT_EQ(note_of("llama-nvfp4-partial", {Compute::bf16, CodeFormat::q8}),
            "note: quantized matrices are made q8: 162.0 KiB in memory for 83.57 KiB in the file");
}

// Codes of 4 bits: 240 KiB; with 64 inputs a scale of 2 bytes and half a byte of a zero point:
// 18.75 KiB; for each input of a matrix the number of its group, 4 bytes: 12.75 KiB. Made codes of
// 8 bits, 480 KiB have a scale of 2 bytes for at most 32 inputs, fewer where o and down are summed
// in eight pieces: 37.5 KiB.
TEST(GrowthNote, CountsZeroPointsAndTheOrderOfInputsToTheFile) {
  EXPECT_THAT(note_of("qwen2-gptq-g64-actorder", {Compute::bf16, CodeFormat::q8}),
              HasSubstr("517.5 KiB in memory for 271.5 KiB in the file"));
}

TEST(GrowthNote, IsEmptyWhereNothingGrows) {
  EXPECT_EQ(note_of("llama", Compute::bf16), "");
  EXPECT_EQ(note_of("llama", {Compute::bf16, CodeFormat::q8}), "");
  // Kept in the file's own blocks and codes.
  EXPECT_EQ(note_of("llama-nvfp4-partial", Compute::bf16), "");
  EXPECT_EQ(note_of("llama-nvfp4-partial", Compute::fp32), "");
  EXPECT_EQ(note_of("qwen2-gptq-g64-actorder", Compute::bf16), "");
  EXPECT_EQ(note_of("gguf-llama-legacy-mix/model.gguf", Compute::bf16), "");
  // Made codes that are smaller than the blocks.
  EXPECT_EQ(note_of("gguf-llama-legacy-mix/model.gguf", {Compute::bf16, CodeFormat::q4}), "");
}

// Keys of 4 heads by 32 from a latent vector of 256 are read turned: two layers of 32,768 numbers
// in q6_k, 210 bytes of 256. All else stays in its blocks and counts on neither side.
TEST(GrowthNote, LeavesOutWhatStaysInItsBlocks) {
  EXPECT_EQ(note_of("gguf-deepseek2-lite-old-kv_b/model.gguf", Compute::bf16),
            "note: quantized matrices are kept as bf16: 128.0 KiB in memory for 52.50 KiB in the "
            "file");
}

}  // namespace
}  // namespace dure
