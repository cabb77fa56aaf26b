// How many prompt tokens a step may take beside decoding sequences, so that a long prompt does not
// make everybody's next token late: at most so many that the step takes `stretch` times as long as
// without them. Learns from the durations it is told what decoding alone and a prompt token take,
// on whatever machine and model that is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace dure {

class StepPace {
 public:
  // `stretch` of 1 or less: no limit.
  explicit StepPace(double stretch) : stretch_(stretch) {}

  // Of a step with so many decoding sequences in its fullest dp group. 0: the time of decoding
  // alone is not known well enough: take no prompts this time.
  int32_t most_prompt_tokens(int32_t decodes) const;

  // A step's duration: from the end of the one before, or from its own start if it came later.
  void saw(int32_t decodes, int32_t prompt_tokens, double seconds);

 private:
  struct Mean {
    double value = 0.0;
    bool known = false;
    void add(double sample);
  };

  static size_t bucket(int32_t decodes);

  double stretch_;
  std::array<Mean, 32> decode_;  // seconds of a step that decodes [2^i, 2^(i+1)) sequences
  Mean prompt_token_;            // seconds it adds to a step
  int32_t mixed_in_a_row_ = 0;
  bool blind_ = false;  // durations are not told
};

}  // namespace dure
