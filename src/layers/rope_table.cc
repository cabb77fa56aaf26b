// See rope_table.h.
#include "layers/rope_table.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dure {
namespace {

constexpr double two_pi = 2.0 * std::numbers::pi;

// Llama 3.1: long wavelengths are divided by `factor`, short ones kept, those between blended.
double llama3_frequency(const RopeSpec& rope, double frequency) {
  const double wavelength = two_pi / frequency;
  const auto context = static_cast<double>(rope.original_context);
  if (wavelength < context / rope.high_freq_factor) return frequency;
  if (wavelength > context / rope.low_freq_factor) return frequency / rope.factor;
  const double smooth = (context / wavelength - rope.low_freq_factor) /
                        (rope.high_freq_factor - rope.low_freq_factor);
  return (1.0 - smooth) * frequency / rope.factor + smooth * frequency;
}

// YaRN, section 3.2: dimensions that turn more than beta_fast times over the original context are
// kept, those below beta_slow turns are interpolated, a linear ramp over dimensions lies between.
struct YarnRamp {
  double low = 0.0;
  double high = 0.0;

  explicit YarnRamp(const RopeSpec& rope) {
    const auto dims = static_cast<double>(rope.dims);
    const auto dimension_of_turns = [&](double turns) {
      return dims * std::log(static_cast<double>(rope.original_context) / (turns * two_pi)) /
             (2.0 * std::log(rope.theta));
    };
    low = dimension_of_turns(rope.beta_fast);
    high = dimension_of_turns(rope.beta_slow);
    if (rope.truncate) {
      low = std::floor(low);
      high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, dims - 1.0);
    if (low == high) high += 0.001;  // a ramp of no width would divide by zero
  }

  double interpolated_share(int64_t pair) const {
    return std::clamp((static_cast<double>(pair) - low) / (high - low), 0.0, 1.0);
  }
};

}  // namespace

std::vector<float> rope_frequencies(const RopeSpec& rope, int64_t length) {
  std::vector<float> frequencies(static_cast<size_t>(rope.dims / 2));
  const YarnRamp ramp(rope);
  for (size_t pair = 0; pair < frequencies.size(); ++pair) {
    double frequency =
        std::pow(rope.theta, -2.0 * static_cast<double>(pair) / static_cast<double>(rope.dims));
    switch (rope.kind) {
      case RopeKind::none:
      case RopeKind::plain:
        break;
      case RopeKind::linear:
        frequency /= rope.factor;
        break;
      case RopeKind::llama3:
        frequency = llama3_frequency(rope, frequency);
        break;
      case RopeKind::yarn: {
        const double share = ramp.interpolated_share(static_cast<int64_t>(pair));
        frequency = share * frequency / rope.factor + (1.0 - share) * frequency;
        break;
      }
      case RopeKind::longrope:
        frequency /=
            length > rope.original_context ? rope.long_factors[pair] : rope.short_factors[pair];
        break;
      case RopeKind::divided:
        frequency /= rope.divisors[pair];
        break;
      case RopeKind::proportional:
        if (static_cast<int64_t>(pair) >= rope.turning) frequency = 0.0;
        break;
    }
    frequencies[pair] = static_cast<float>(frequency);
  }
  return frequencies;
}

RopeTable make_rope_table(const RopeSpec& rope, std::span<const int32_t> positions,
                          std::span<const int32_t> lengths) {
  const std::vector<float> usual = rope_frequencies(rope);
  std::vector<float> of_long;
  if (rope.kind == RopeKind::longrope) of_long = rope_frequencies(rope, rope.original_context + 1);
  RopeTable table;
  table.dims = rope.dims;
  table.interleaved = rope.interleaved;
  table.cos.resize(positions.size() * usual.size());
  table.sin.resize(table.cos.size());
  size_t at = 0;
  for (size_t row = 0; row < positions.size(); ++row) {
    const bool is_long = !of_long.empty() && lengths[row] > rope.original_context;
    for (const float frequency : is_long ? of_long : usual) {
      const double angle = static_cast<float>(positions[row]) * frequency;
      table.cos[at] = static_cast<float>(std::cos(angle) * rope.attention_factor);
      table.sin[at] = static_cast<float>(std::sin(angle) * rope.attention_factor);
      ++at;
    }
  }
  return table;
}

void RopeTables::rotate(Backend& backend, const RopeSpec& rope, float* x, int64_t rows,
                        int64_t heads, int64_t head_dim, int64_t stride, const int32_t* row_index) {
  if (rope.kind == RopeKind::none) return;
  backend.rope(x, rows, heads, head_dim, stride, row_index, of(rope));
}

const RopeTable& RopeTables::of(const RopeSpec& rope) {
  for (const Made& made : made_) {
    if (made.spec == rope) return made.table;
  }
  made_.push_back({rope, make_rope_table(rope, positions_, lengths_)});
  return made_.back().table;
}

}  // namespace dure
