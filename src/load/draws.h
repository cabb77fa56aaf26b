// Numbers drawn from a seed, the same on every machine (the standard library leaves its
// distributions to each vendor). Each purpose and each request has a stream of its own, so that
// more requests, or other lengths, change nothing that was drawn for the rest.
#pragma once

#include <cstdint>

namespace dure::load {

enum class DrawPurpose : uint64_t { arrivals, lengths, words, cancels, order };

// SplitMix64 (Steele, Lea, Flood 2014): a counter through a mixing function.
class Draws {
 public:
  explicit Draws(uint64_t seed, DrawPurpose purpose, uint64_t item = 0);

  uint64_t next();
  double uniform();                              // in [0, 1)
  int64_t between(int64_t least, int64_t most);  // both included
  double exponential(double mean);
  double normal();  // mean 0, deviation 1

 private:
  uint64_t state_;
};

}  // namespace dure::load
