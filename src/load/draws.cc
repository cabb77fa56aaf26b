// See draws.h.
#include "load/draws.h"

#include <cmath>
#include <numbers>

#include "base/error.h"

namespace dure::load {
namespace {

constexpr uint64_t golden = 0x9E3779B97F4A7C15;

uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

}  // namespace

Draws::Draws(uint64_t seed, DrawPurpose purpose, uint64_t item)
    : state_(mix(mix(mix(seed + golden) + static_cast<uint64_t>(purpose) + golden) + item)) {}

uint64_t Draws::next() {
  state_ += golden;
  return mix(state_);
}

double Draws::uniform() {
  constexpr double step = 0x1p-53;
  return static_cast<double>(next() >> 11) * step;
}

int64_t Draws::between(int64_t least, int64_t most) {
  DURE_CHECK(least <= most);
  // The product's bias is below 2^-31 for ranges of lengths and ids.
  const double width = static_cast<double>(most - least) + 1.0;
  return least + static_cast<int64_t>(uniform() * width);
}

double Draws::exponential(double mean) {
  return -mean * std::log1p(-uniform());
}

double Draws::normal() {
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace dure::load
