// Matrices that are kept as codes with their scales apart (tensor/block_rows.h): a strip of them
// becomes the panel that products read. As in vector_blocks.cc the numbers are those that a loader
// would have made.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/cpu/vector/vector_backend.h"

namespace dure {
namespace {

static_assert(strip_outputs == panel_width);
static_assert(block_kinds + scaled_kinds == static_cast<int>(BlockFormat::int4) + 1);

// Zeros and scales of the numbers of a step: of each output twice, or of two groups in turn.
struct StepScales {
  alignas(64) float zeros[step_numbers] = {};
  alignas(64) float scales[step_numbers] = {};

  // Of input 2 * step + which, for all outputs.
  void put(int which, const float* own_zeros, const float* own_scales) {
    for (int64_t i = 0; i < strip_outputs; ++i) {
      zeros[2 * i + which] = own_zeros[i];
      scales[2 * i + which] = own_scales[i];
    }
  }
  // Whether no product of a code is subnormal (but zero none is less than 2^-9), nor near the end.
  bool normal() const {
    constexpr float least = 0x1p-117f;
    constexpr float most = 0x1p100f;
    int others = 0;
    for (const float scale : scales) {
      const float size = std::abs(scale);
      others += (size >= least && size <= most) || size == 0.0f ? 0 : 1;
    }
    return others == 0;
  }
};

// The scales of a strip's groups as its inputs come to them. What has no output has zeros.
class StripScales {
 public:
  StripScales(const ScaleReader& reader, int64_t first, int64_t outputs, int64_t listed_groups)
      : reader_(reader), first_(first), outputs_(outputs) {
    // Groups that are listed come again and again; others once.
    slots_.resize(static_cast<size_t>(std::max<int64_t>(listed_groups, 1)));
  }

  void put(int which, int64_t group, StepScales& to) {
    Slot& slot = slots_[static_cast<size_t>(group) % slots_.size()];
    if (group != slot.group) {
      reader_.read(group, first_, outputs_, slot.zeros, slot.scales);
      slot.group = group;
    }
    to.put(which, slot.zeros, slot.scales);
  }

 private:
  struct Slot {
    int64_t group = -1;
    float zeros[strip_outputs] = {};
    float scales[strip_outputs] = {};
  };
  const ScaleReader& reader_;
  int64_t first_;
  int64_t outputs_;
  std::vector<Slot> slots_;
};

// The strip that is a panel of the matrix, and how many outputs it has; none if there is none, or
// if inputs do not lie in steps as the panel's do.
struct Strip {
  PackedShape::BlockPlace place;
  int64_t outputs = 0;
};
Strip strip_of(const PackedShape& shape, int64_t panel) {
  const int64_t first = shape.output_at(panel, 0);
  if (first < 0 || shape.first_input % 2 != 0) return {};
  for (const int64_t length : shape.segments) {
    if (length % 2 != 0) return {};
  }
  Strip strip = {shape.block_place(first), 1};
  const BlockRows& rows = *strip.place.rows;
  if (!rows.scales || strip.place.output % strip_outputs != 0) return {};
  while (strip.outputs < panel_width && shape.output_at(panel, strip.outputs) >= 0) ++strip.outputs;
  if (strip.place.output + strip.outputs > rows.count) return {};
  return strip;
}

// Numbers of steps, one beside the other, to a panel of fp32: [inputs][32].
void part_inputs(const float* steps, int64_t count, float* out) {
  for (int64_t step = 0; step < count; ++step) {
    for (int64_t i = 0; i < step_numbers; ++i)
      out[step * step_numbers + i % 2 * strip_outputs + i / 2] = steps[step * step_numbers + i];
  }
}

}  // namespace

bool VectorBackend::make_panel_of_strip(const PackedMatrix& matrix, int64_t panel,
                                        std::byte* out) const {
  const PackedShape& shape = matrix.shape();
  const Strip strip = strip_of(shape, panel);
  if (strip.outputs == 0) return false;
  const BlockRows& rows = *strip.place.rows;
  const Range inputs = shape.held_inputs();
  const std::byte* const kept = matrix.data() + strip.place.offset;
  const ScaleReader reader(*rows.scales, rows.scales_of(inputs), kept + rows.code_bytes(inputs),
                           inputs);
  StripScales scales(reader, strip.place.output, strip.outputs, rows.scales->listed_groups);
  StepScales of_step;
  const auto kind = static_cast<size_t>(rows.format) - block_kinds;
  const int64_t base = rows.blocks_of(inputs).begin * size_of(rows.format).values;
  StripSteps steps;
  steps.strip = reinterpret_cast<const uint8_t*>(kept + strip.place.output / strip_outputs *
                                                            rows.strip_bytes(inputs));
  steps.zeros = of_step.zeros;
  steps.scales = of_step.scales;
  constexpr int64_t most_steps = 64;  // of fp32, which are turned
  float numbers[most_steps * step_numbers];
  for (int64_t input = inputs.begin; input < inputs.end;) {
    const int64_t run_end = reader.run_end(input);
    const int64_t group = reader.group_of(input);
    scales.put(0, group, of_step);
    int64_t end = run_end - run_end % 2;
    if (end == input) {  // the run is one input, or the rest of one
      end = input + 2;
      scales.put(1, reader.group_of(input + 1), of_step);
    } else {
      scales.put(1, group, of_step);
    }
    steps.begin = (input - base) / 2;
    if (shape.dtype == DType::f32) {
      end = std::min(end, input + 2 * most_steps);
      steps.end = (end - base) / 2;
      kernels_.strips_fp32[kind](steps, numbers);
      part_inputs(numbers, steps.end - steps.begin, reinterpret_cast<float*>(out));
    } else {
      steps.end = (end - base) / 2;
      const auto quick = kernels_.strips_bf16_normal[kind];
      const bool take_quick = quick != nullptr && of_step.normal();
      (take_quick ? quick : kernels_.strips_bf16[kind])(steps, reinterpret_cast<uint16_t*>(out));
    }
    out += (steps.end - steps.begin) * step_numbers * bytes_of(shape.dtype);
    input = end;
  }
  return true;
}

void VectorBackend::make_panel_of_numbers(const PackedMatrix& matrix, int64_t panel,
                                          std::byte* out) {
  const PackedShape& shape = matrix.shape();
  PackedShape one = shape;
  one.n = panel_width;
  one.order = PanelOrder::plain;
  one.block_rows.clear();
  std::memset(out, 0, static_cast<size_t>(one.bytes()));
  PackedMatrix made(one, out);
  std::vector<float> row(static_cast<size_t>(shape.k()));
  for (int64_t column = 0; column < panel_width; ++column) {
    const int64_t output = shape.output_at(panel, column);
    if (output < 0) continue;
    const PackedShape::BlockPlace place = shape.block_place(output);
    place.rows->decode(matrix.data() + place.offset, shape.held_inputs(), place.output, row.data());
    made.pack_rows(column, 1, row.data(), 0, DType::f32);
  }
}

}  // namespace dure
