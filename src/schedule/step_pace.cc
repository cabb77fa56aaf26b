// See step_pace.h.
#include "schedule/step_pace.h"

#include <algorithm>
#include <cmath>

namespace dure {
namespace {

constexpr double weight_of_old = 0.95;  // of a step, for each one after it
// What decoding alone takes is measured again now and then.
constexpr int32_t steps_between_probes = 64;
// Chunks of one size do not tell what each token costs from what there being any does, so every so
// many steps with prompts one has half.
constexpr int32_t steps_between_halves = 8;
// Estimates may be wrong, so chunks grow step by step: to twice the last one, or this many tokens.
constexpr double growth = 2.0;
constexpr double first_chunk = 8.0;
// For growth alone: how many keys count like a token. That a token costs no more than that many
// keys errs on the safe side wherever it costs more.
constexpr double keys_like_a_token = 1024.0;

CostFit::Numbers numbers_of_decodes(const PacedStep& step) {
  return {1.0, static_cast<double>(step.decodes), step.decode_keys};
}

CostFit::Numbers numbers_of_prompts(const PacedStep& step) {
  return {static_cast<double>(step.prompt_tokens), step.prompt_keys, 1.0};
}

double growth_of(double tokens, double keys) {
  return tokens + keys / keys_like_a_token;
}

}  // namespace

double paced_seconds(double stretch, double alone, const PromptCost& cost) {
  return std::max((stretch - 1.0) * alone - cost.fixed, cost.fixed);
}

double paced_tokens(double stretch, double alone, const PromptCost& cost) {
  const double tokens = paced_seconds(stretch, alone, cost) / std::max(cost.each, 1e-12);
  return std::clamp(tokens, 1.0, 1e9);
}

double keys_seen(double start, double tokens) {
  return tokens * (start + 0.5 * (tokens + 1.0));
}

PromptRoom::PromptRoom(int32_t tokens, double seconds, const PromptCost& cost, double growth)
    : tokens_(tokens),
      time_{seconds, cost.each, cost.key},
      growth_{growth, 1.0, 1.0 / keys_like_a_token} {}

// The positive root of key / 2 * n² + (each + key * (start + 1/2)) * n = left.
double PromptRoom::Budget::fits(double start) const {
  if (left == no_limit) return no_limit;
  if (left <= 0.0) return 0.0;
  const double linear = each + key * (start + 0.5);
  const double sum = linear + std::sqrt(linear * linear + 2.0 * key * left);
  return sum > 0.0 ? 2.0 * left / sum : no_limit;
}

void PromptRoom::Budget::take(double start, double tokens) {
  if (left != no_limit) left -= each * tokens + key * keys_seen(start, tokens);
}

int32_t PromptRoom::fits(int32_t start) const {
  const double most = std::min(time_.fits(start), growth_.fits(start));
  return most < tokens_ ? static_cast<int32_t>(most) : tokens_;
}

void PromptRoom::take(int32_t start, int32_t tokens) {
  tokens_ -= tokens;
  time_.take(start, tokens);
  growth_.take(start, tokens);
}

PromptRoom PromptRoom::half() const {
  PromptRoom half = *this;
  half.tokens_ = (tokens_ + 1) / 2;
  half.time_.left *= 0.5;
  half.growth_.left *= 0.5;
  return half;
}

double CostFit::seconds(const Numbers& numbers) const {
  return numbers[0] * parts_[0] + numbers[1] * parts_[1] + numbers[2] * parts_[2];
}

void CostFit::learn(const Numbers& numbers, double seconds) {
  if (known_) seconds = std::min(seconds, most_surprise_ * this->seconds(numbers));
  known_ = true;
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 0; j < 3; ++j) {
      squares_[i][j] = weight_of_old * squares_[i][j] + numbers[i] * numbers[j];
    }
    products_[i] = weight_of_old * products_[i] + numbers[i] * seconds;
  }
  // One part after another, from where they were: what the steps seen do not tell apart stays with
  // the first that explains it.
  for (int sweep = 0; sweep < 32; ++sweep) {
    for (size_t i = 0; i < 3; ++i) {
      if (squares_[i][i] <= 0.0) continue;
      double rest = products_[i];
      for (size_t j = 0; j < 3; ++j) {
        if (j != i) rest -= squares_[i][j] * parts_[j];
      }
      parts_[i] = std::max(0.0, rest / squares_[i][i]);
    }
  }
}

PromptRoom StepPace::room(const PacedStep& decodes, int32_t tokens) const {
  if (stretch_ <= 1.0 || decodes.decodes == 0 || blind_) {
    return PromptRoom(tokens, PromptRoom::no_limit, {}, PromptRoom::no_limit);
  }
  if (!alone_.known() || mixed_in_a_row_ >= steps_between_probes) return PromptRoom(0, 0.0, {}, 0);
  const PromptCost cost{prompts_.parts()[2], prompts_.parts()[0], prompts_.parts()[1]};
  const double seconds =
      prompts_.known() ? paced_seconds(stretch_, alone_.seconds(numbers_of_decodes(decodes)), cost)
                       : PromptRoom::no_limit;
  const PromptRoom room(tokens, seconds, cost, growth * std::max(first_chunk, last_taken_));
  return mixed_in_a_row_ % steps_between_halves == steps_between_halves - 1 ? room.half() : room;
}

void StepPace::saw(const PacedStep& step, double seconds) {
  blind_ = !std::isfinite(seconds) || seconds <= 0.0;
  if (blind_ || step.decodes == 0) return;
  const CostFit::Numbers decodes = numbers_of_decodes(step);
  if (step.prompt_tokens == 0) {
    alone_.learn(decodes, seconds);
    mixed_in_a_row_ = 0;
    return;
  }
  ++mixed_in_a_row_;
  last_taken_ = growth_of(step.prompt_tokens, step.prompt_keys);
  if (!alone_.known()) return;
  prompts_.learn(numbers_of_prompts(step), std::max(0.0, seconds - alone_.seconds(decodes)));
}

}  // namespace dure
