// See block_rows.h.
#include "tensor/block_rows.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "tensor/float_bits.h"

namespace dure {

float code_at(BlockFormat format, const std::byte* strip, int64_t output, int64_t input) {
  const int64_t step = input / 2;
  const int64_t number = 2 * output + input % 2;
  const auto whole = [&] { return static_cast<uint8_t>(strip[step * step_numbers + number]); };
  const auto half = [&] {
    const auto both = static_cast<uint32_t>(strip[step / 2 * step_numbers + number]);
    return both >> step % 2 * 4 & 15u;
  };
  switch (format) {
    case BlockFormat::fp8:
      return float_from_fp8(whole());
    case BlockFormat::int8:
      return static_cast<float>(static_cast<int8_t>(whole()));
    case BlockFormat::fp4: {
      const float magnitude = 0.5f * static_cast<float>(mxfp4_levels[half() & 7u]);
      return half() < 8 ? magnitude : -magnitude;
    }
    case BlockFormat::int4:
      return static_cast<float>(half());
    default:
      DURE_CHECK(false);
      return 0.0f;
  }
}

void BlockRows::decode(const std::byte* kept, Range held, int64_t output, float* to) const {
  const Range blocks = blocks_of(held);
  const int64_t values = size_of(format).values;
  const int64_t first = blocks.begin * values;
  if (!scales) {
    std::vector<float> row(static_cast<size_t>(blocks.size() * values));
    decode_blocks(format, kept + output * row_bytes(held), blocks.size(), row.data());
    std::copy_n(row.data() + (held.begin - first), held.size(), to);
    return;
  }
  const ScaleReader reader(*scales, scales_of(held), kept + code_bytes(held), held);
  const std::byte* const strip = kept + output / strip_outputs * strip_bytes(held);
  for (int64_t input = held.begin; input < held.end;) {
    float zero;
    float scale;
    reader.read(reader.group_of(input), output, 1, &zero, &scale);
    for (const int64_t end = reader.run_end(input); input < end; ++input) {
      const float code = code_at(format, strip, output % strip_outputs, input - first);
      *to++ = (code - zero) * scale;
    }
  }
}

}  // namespace dure
