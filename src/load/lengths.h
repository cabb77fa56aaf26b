// How long prompts and answers are: "128", "20..3000", "512~128", or a mixture of those with
// weights, "128:9,20..3000:1".
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "load/draws.h"

namespace dure::load {

constexpr int64_t most_tokens = 10'000'000;  // of one prompt or answer

class Lengths {
 public:
  // Always so many tokens.
  explicit Lengths(int64_t tokens);

  // N: always; A..B: any of them, equally likely; M~S: normal with mean M and deviation S, at least
  // 1; several with commas between them are drawn by weight (":9", else 1). Counts may be written
  // 30K. Throws bad_input naming `what` ("--input").
  static Lengths parse(std::string_view text, std::string_view what);

  int64_t draw(Draws& draws) const;  // tokens, from 1 to most_tokens

 private:
  struct Part {
    double weight = 1.0;
    int64_t least = 1;  // of a range
    int64_t most = 1;
    int64_t deviation = 0;  // above 0: normal around `least`
  };
  Lengths() = default;
  static Part parse_part(std::string_view text, std::string_view what);

  std::vector<Part> parts_;
};

}  // namespace dure::load
