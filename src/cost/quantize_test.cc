// What `--quantize` makes of the weights of a model, in memory.
#include <gtest/gtest.h>

#include <filesystem>

#include "cost/memory.h"
#include "cost/resident.h"
#include "model/inventory.h"
#include "model/load_spec.h"

namespace dure {
namespace {

ModelSpec spec_of(const char* name) {
  return load_spec(std::filesystem::path(DURE_SOURCE_DIR) / "testdata" / name);
}

TEST(Quantize, QuantizedMatricesTakeTheirBitsAndScalesAndOthersStay) {
  const ModelSpec spec = spec_of("configs/released/Qwen--Qwen3-8B.json");
  const std::vector<Weight> weights = inventory(spec);
  int64_t expected = 0;
  for (const Weight& weight : weights) {
    const bool table = weight.part == Part::embedding;
    expected += !weight.is_matrix() ? 2 * weight.bytes()
                : table             ? weight.bytes()
                                    : weight.elements() * 17 / 16;  // 8 bits, 16 for each 32
  }
  RunShape shape;
  shape.quantize = CodeFormat::q8;
  EXPECT_EQ(rank_memory(weights, spec, {}, 0, shape).weights, expected);
  EXPECT_EQ(MemoryModel(spec).of({}, 0, shape).weights, expected);
}

TEST(Quantize, RoutersAndSmallMatricesAreNeverQuantized) {
  const ModelSpec spec = spec_of("models/qwen3-moe");
  const std::vector<Weight> weights = inventory(spec);
  int coded = 0;
  for (const Resident& each : resident_weights(weights, spec, {}, share_of(spec, {}, 0),
                                               {Compute::bf16, CodeFormat::q4})) {
    if (each.form != Form::packed) continue;
    EXPECT_EQ(each.shape.coded(),
              each.slot != Slot::router && each.pieces[0].weight->shape[1] >= quantized_inputs);
    coded += each.shape.coded();
  }
  EXPECT_GT(coded, 0);
}

}  // namespace
}  // namespace dure
