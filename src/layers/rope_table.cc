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

std::vector<float> rope_frequencies(const RopeSpec& rope) {
  std::vector<float> frequencies(static_cast<size_t>(rope.dims / 2));
  const YarnRamp ramp(rope);
  for (size_t pair = 0; pair < frequencies.size(); ++pair) {
    double frequency =
        std::pow(rope.theta, -2.0 * static_cast<double>(pair) / static_cast<double>(rope.dims));
    switch (rope.kind) {
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
    }
    frequencies[pair] = static_cast<float>(frequency);
  }
  return frequencies;
}

RopeTable make_rope_table(const RopeSpec& rope, std::span<const int32_t> positions) {
  const std::vector<float> frequencies = rope_frequencies(rope);
  RopeTable table;
  table.dims = rope.dims;
  table.cos.resize(positions.size() * frequencies.size());
  table.sin.resize(table.cos.size());
  size_t at = 0;
  for (const int32_t position : positions) {
    for (const float frequency : frequencies) {
      const double angle = static_cast<float>(position) * frequency;
      table.cos[at] = static_cast<float>(std::cos(angle) * rope.attention_factor);
      table.sin[at] = static_cast<float>(std::sin(angle) * rope.attention_factor);
      ++at;
    }
  }
  return table;
}

}  // namespace dure
