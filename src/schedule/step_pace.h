// How many prompt tokens a step may take beside decoding sequences, so that a long prompt does not
// make everybody's next token late: at most so many that the step takes `stretch` times as long as
// without them. Learns from the durations it is told what decoding alone takes and what prompts add
// to it, on whatever machine and model that is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace dure {

// What prompts add to a step, in seconds: something for there being any, and something for each
// token.
struct PromptCost {
  double fixed = 0.0;
  double each = 0.0;
};

// Prompt tokens that make a step `stretch` times as long as decoding alone (`alone` seconds). No
// fewer than cost as much as there being any: where the stretch is spent on that, smaller chunks
// would only repeat it more often. At least a few: a prompt goes on, whatever it takes.
double paced_tokens(double stretch, double alone, const PromptCost& cost);

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
  void learn(double tokens, double seconds);

  double stretch_;
  std::array<Mean, 32> decode_;  // seconds of a step that decodes [2^i, 2^(i+1)) sequences
  PromptCost cost_;
  bool cost_known_ = false;  // chunks of different sizes were seen
  // Of mixed steps, the older the less: for a line through what their prompts added.
  double weight_ = 0.0;
  double tokens_ = 0.0;
  double tokens_squared_ = 0.0;
  double seconds_ = 0.0;
  double product_ = 0.0;
  int32_t last_taken_ = 0;
  int32_t mixed_in_a_row_ = 0;
  bool blind_ = false;  // durations are not told
};

}  // namespace dure
