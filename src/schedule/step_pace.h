// How much of prompts a step may take beside decoding sequences, so that a long prompt does not
// make everybody's next token late: so much that the step takes `stretch` times as long as without.
// Learns from the durations it is told what decoding alone takes and what prompts add to it, on
// whatever machine and model that is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace dure {

// What prompts add to a step, in seconds: something for there being any, something for each token,
// and something for each key that a token sees.
struct PromptCost {
  double fixed = 0.0;
  double each = 0.0;
  double key = 0.0;
};

// What chunks may cost beside the fixed part, so that a step takes `stretch` times as long as
// decoding alone (`alone` seconds). No less than there being any costs: where the stretch is spent
// on that, smaller chunks would only repeat it more often.
double paced_seconds(double stretch, double alone, const PromptCost& cost);

// Tokens of one chunk, of prompts without keys before them, in that time; at least one: a prompt
// goes on, whatever it takes.
double paced_tokens(double stretch, double alone, const PromptCost& cost);

// The keys that `tokens` tokens see together, the first of them after `start` others.
double keys_seen(double start, double tokens);

// What a step holds, as far as its duration depends on it; of the fullest dp group.
struct PacedStep {
  int32_t decodes = 0;
  double decode_keys = 0.0;
  int32_t prompt_tokens = 0;
  double prompt_keys = 0.0;
};

// What is left for prompts in a step that is being made.
class PromptRoom {
 public:
  static constexpr double no_limit = std::numeric_limits<double>::infinity();

  // `tokens` in any case; `seconds` of what `cost` says but for its fixed part; `growth` in tokens
  // and 1/1024 of their keys.
  PromptRoom(int32_t tokens, double seconds, const PromptCost& cost, double growth);

  // Of a chunk that begins after `start` tokens of its sequence.
  int32_t fits(int32_t start) const;
  void take(int32_t start, int32_t tokens);
  PromptRoom half() const;
  // Nothing at all may be taken. Otherwise a chunk of one token may, even where it does not fit.
  bool closed() const { return tokens_ <= 0; }

 private:
  struct Budget {
    double left = no_limit;
    double each = 0.0;
    double key = 0.0;
    double fits(double start) const;
    void take(double start, double tokens);
  };
  int32_t tokens_ = 0;
  Budget time_;
  Budget growth_;
};

// Seconds as a sum of three parts that are not below 0, one for each of three numbers of a step:
// least squares over what was seen, the older the less.
class CostFit {
 public:
  using Numbers = std::array<double, 3>;

  // What comes is taken for `most_surprise` times what was expected at most: one step that the
  // system held up says little.
  explicit CostFit(double most_surprise = std::numeric_limits<double>::infinity())
      : most_surprise_(most_surprise) {}

  void learn(const Numbers& numbers, double seconds);
  bool known() const { return known_; }
  double seconds(const Numbers& numbers) const;
  const Numbers& parts() const { return parts_; }

 private:
  double most_surprise_;
  bool known_ = false;
  Numbers parts_ = {};
  std::array<Numbers, 3> squares_ = {};  // sums of products of two numbers
  Numbers products_ = {};                // and of a number with the seconds
};

class StepPace {
 public:
  // `stretch` of 1 or less: no limit.
  explicit StepPace(double stretch) : stretch_(stretch) {}

  // Of a step with these decodes, which may take `tokens` more. Closed where the time of decoding
  // alone is not known well enough: then prompts wait for the next step.
  PromptRoom room(const PacedStep& decodes, int32_t tokens) const;

  // A step's duration: from the end of the one before, or from its own start if it came later.
  void saw(const PacedStep& step, double seconds);

 private:
  double stretch_;
  // Surprises count in full only where they make chunks smaller.
  CostFit alone_{1.5};  // of 1, decodes, their keys
  CostFit prompts_;     // what they add: of tokens, their keys, 1
  double last_taken_ = 0.0;
  int32_t mixed_in_a_row_ = 0;
  bool blind_ = false;  // durations are not told
};

}  // namespace dure
