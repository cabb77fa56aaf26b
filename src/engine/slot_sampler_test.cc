// A slot's sampler: what follows from its setup, and that one made anew from a history draws what
// the one that lived through it draws.
#include "engine/slot_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "kernels/backend.h"
#include "kernels/random_data.h"

namespace dure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

using Tokens = std::vector<int32_t>;

Slice slice_of(int start, const Tokens& tokens) {
  Slice slice;
  slice.sequence = 5;
  slice.start = start;
  slice.tokens = tokens;
  slice.want = Want::token;
  return slice;
}

Slice first_slice(const SamplingParams& params, int prompt_tokens, const Tokens& tokens,
                  const Tokens& history = {}) {
  Slice slice = slice_of(static_cast<int>(history.size()), tokens);
  slice.setup = SequenceSetup{params, prompt_tokens, history};
  return slice;
}

Tokens forbidden_after(SlotSampler& sampler, const Slice& slice) {
  sampler.take(slice);
  const SampleRow row = sampler.next_token(slice);
  return {row.rules.forbidden.begin(), row.rules.forbidden.end()};
}

std::vector<std::pair<int32_t, int32_t>> seen_by(const SampleRow& row) {
  std::vector<std::pair<int32_t, int32_t>> seen;
  for (const SeenToken& each : row.rules.seen) seen.emplace_back(each.token, each.produced);
  return seen;
}

TEST(SlotSampler, WithoutASetupIsGreedyAndTellsNothing) {
  SlotSampler sampler;
  const Slice slice = slice_of(40, {1, 2});
  sampler.take(slice);
  const SampleRow row = sampler.next_token(slice);
  EXPECT_EQ(row.spec.temperature, 0.0f);
  EXPECT_TRUE(row.rules.empty());
  EXPECT_EQ(row.logprobs, -1);
  EXPECT_EQ(sampler.told_prompt_rows(slice), 0);
}

TEST(SlotSampler, HandsEveryParameterOn) {
  SamplingParams params{0.5f,        0.9f,   0.1f,  40, 8,  0.25f, -0.75f, 1.5f,
                        {{3, 2.5f}}, {4, 5}, {{6}}, 0,  {}, 7,     -1};
  SlotSampler sampler;
  Slice slice = first_slice(params, 2, {1, 2});
  slice.mask = {12};
  sampler.take(slice);
  const SampleRow row = sampler.next_token(slice);
  EXPECT_EQ(row.spec.temperature, 0.5f);
  EXPECT_EQ(row.spec.top_p, 0.9f);
  EXPECT_EQ(row.spec.min_p, 0.1f);
  EXPECT_EQ(row.spec.top_k, 40);
  EXPECT_EQ(row.spec.seed, 8u);
  EXPECT_EQ(row.position, 2u);
  EXPECT_EQ(row.logprobs, 7);
  EXPECT_EQ(row.rules.presence, 0.25f);
  EXPECT_EQ(row.rules.frequency, -0.75f);
  EXPECT_EQ(row.rules.repetition, 1.5f);
  ASSERT_EQ(row.rules.bias.size(), 1u);
  EXPECT_EQ(row.rules.bias[0].token, 3);
  EXPECT_EQ(row.rules.bias[0].bias, 2.5f);
  EXPECT_THAT(Tokens(row.rules.allowed.begin(), row.rules.allowed.end()), ElementsAre(4, 5));
  EXPECT_THAT(Tokens(row.rules.forbidden.begin(), row.rules.forbidden.end()), ElementsAre(6));
  EXPECT_EQ(row.rules.mask[0], 12u);
}

TEST(SlotSampler, PenaltiesCountProducedTokensAndRepetitionThePromptsToo) {
  SamplingParams params;
  params.frequency_penalty = 1.0f;
  SlotSampler sampler;
  sampler.take(first_slice(params, 3, {7, 8, 9}));
  sampler.take(slice_of(3, {8}));
  Slice last = slice_of(4, {8});
  sampler.take(last);
  EXPECT_THAT(seen_by(sampler.next_token(last)), ElementsAre(std::pair(8, 2)));

  params.repetition_penalty = 1.1f;
  sampler.take(first_slice(params, 3, {7, 8, 9}));
  last = slice_of(3, {8});
  sampler.take(last);
  EXPECT_THAT(seen_by(sampler.next_token(last)),
              UnorderedElementsAre(std::pair(7, 0), std::pair(8, 1), std::pair(9, 0)));
}

TEST(SlotSampler, TheLastTokenOfABadWordIsForbiddenAfterTheOthers) {
  SamplingParams params;
  params.bad_words = {{4}, {1, 2}, {1, 1, 3}, {9, 1, 5}};
  SlotSampler sampler;
  // The prompt's 9 and 1 begin no word: only produced tokens do.
  EXPECT_THAT(forbidden_after(sampler, first_slice(params, 2, {9, 1})), ElementsAre(4));
  EXPECT_THAT(forbidden_after(sampler, slice_of(2, {1})), ElementsAre(4, 2));
  EXPECT_THAT(forbidden_after(sampler, slice_of(3, {1})), ElementsAre(4, 2, 3));
  EXPECT_THAT(forbidden_after(sampler, slice_of(4, {9})), ElementsAre(4));
  EXPECT_THAT(forbidden_after(sampler, slice_of(5, {1})), ElementsAre(4, 2, 5));
}

TEST(SlotSampler, StopIdsAreForbiddenBeforeMinTokensAreProduced) {
  SamplingParams params;
  params.min_tokens = 2;
  params.stop_ids = {10, 11};
  SlotSampler sampler;
  EXPECT_THAT(forbidden_after(sampler, first_slice(params, 3, {1, 2, 3})), ElementsAre(10, 11));
  EXPECT_THAT(forbidden_after(sampler, slice_of(3, {1})), ElementsAre(10, 11));
  EXPECT_THAT(forbidden_after(sampler, slice_of(4, {1})), ElementsAre());
  // Another sequence takes the slot in the middle of its answer.
  EXPECT_THAT(forbidden_after(sampler, first_slice({}, 3, {1}, {})), ElementsAre());
}

TEST(SlotSampler, EveryPromptTokenButTheFirstIsToldOnceHoweverThePromptIsCut) {
  const Tokens prompt = {3, 1, 4, 1, 5, 9, 2, 6};
  for (int chunk = 1; chunk <= 8; ++chunk) {
    SamplingParams params;
    params.prompt_logprobs = 2;
    SlotSampler sampler;
    Tokens told;
    for (int start = 0; start < 8; start += chunk) {
      const int end = std::min(start + chunk, 8);
      const Tokens tokens(prompt.begin() + start, prompt.begin() + end);
      Slice slice = start == 0 ? first_slice(params, 8, tokens) : slice_of(start, tokens);
      if (end < 8) slice.next_token = prompt[static_cast<size_t>(end)];
      sampler.take(slice);
      for (int64_t i = 0; i < sampler.told_prompt_rows(slice); ++i) {
        const SampleRow row = sampler.prompt_token(slice, i);
        EXPECT_EQ(row.logprobs, 2);
        told.push_back(row.given);
      }
    }
    EXPECT_EQ(told, Tokens(prompt.begin() + 1, prompt.end())) << chunk;
  }
  // Produced tokens, computed anew after a preemption, are not the prompt's.
  SamplingParams params;
  params.prompt_logprobs = 0;
  SlotSampler sampler;
  const Slice slice = first_slice(params, 2, {3, 1, 4});
  sampler.take(slice);
  EXPECT_EQ(sampler.told_prompt_rows(slice), 1);
}

std::string refusal(SlotSampler& sampler, const Slice& slice) {
  try {
    sampler.take(slice);
  } catch (const Error& error) {
    return error.message();
  }
  return "taken";
}

TEST(SlotSampler, RefusesAGapOrAnOverlapWhereItLooksBack) {
  SamplingParams params;
  params.presence_penalty = 1.0f;
  SlotSampler sampler;
  sampler.take(first_slice(params, 3, {7, 8, 9}));
  EXPECT_THAT(refusal(sampler, slice_of(4, {1})), HasSubstr("position 4"));
  EXPECT_THAT(refusal(sampler, slice_of(2, {1})), HasSubstr("known up to 3"));
  EXPECT_EQ(refusal(sampler, slice_of(3, {1})), "taken");
  sampler.take(first_slice({}, 3, {7, 8, 9}));
  EXPECT_EQ(refusal(sampler, slice_of(9, {1})), "taken");
}

TEST(SlotSampler, RefusesAPromptChunkWithoutTheTokenAfterIt) {
  SamplingParams params;
  params.prompt_logprobs = 0;
  SlotSampler sampler;
  EXPECT_THAT(refusal(sampler, first_slice(params, 3, {7, 8})), HasSubstr("position 2"));
  EXPECT_EQ(refusal(sampler, first_slice(params, 2, {7, 8})), "taken");
}

class Dice {
 public:
  explicit Dice(uint64_t seed) : bits_(seed) {}
  int below(int n) { return static_cast<int>(bits_() % static_cast<uint64_t>(n)); }

 private:
  std::mt19937_64 bits_;
};

SamplingParams random_params(Dice& dice, int vocab) {
  SamplingParams params;
  params.temperature = dice.below(3) == 0 ? 0.0f : 1.0f;
  params.top_p = dice.below(2) == 0 ? 0.8f : 1.0f;
  params.seed = static_cast<uint64_t>(dice.below(1000));
  if (dice.below(2) == 0) params.presence_penalty = 0.7f;
  if (dice.below(2) == 0) params.frequency_penalty = 0.3f;
  if (dice.below(2) == 0) params.repetition_penalty = 1.3f;
  for (int i = dice.below(4); i > 0; --i) {
    Tokens& word = params.bad_words.emplace_back();
    for (int n = dice.below(3); n >= 0; --n) word.push_back(dice.below(vocab));
  }
  params.min_tokens = dice.below(30);
  params.stop_ids = {dice.below(vocab), dice.below(vocab)};
  params.logprobs = dice.below(4) - 1;
  return params;
}

// Plays a sequence to its end: cuts it anywhere, as preemptions, prefix hits and restarts do, and
// goes on in a slot that another sequence had.
TEST(SlotSampler, MadeAnewFromAHistoryDrawsWhatTheOneThatLivedThroughItDraws) {
  constexpr int vocab = 24;
  const auto backend = make_cpu_backend(1);
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Dice dice(seed);
    const SamplingParams params = random_params(dice, vocab);
    const int prompt_tokens = 1 + dice.below(10);
    Tokens tokens;
    for (int i = 0; i < prompt_tokens; ++i) tokens.push_back(dice.below(vocab));
    SlotSampler lived;
    SlotSampler other;
    bool fresh = true;  // `other` must be set up
    int fed = 0;
    for (int step = 0; step < 40; ++step) {
      const std::vector<float> logits =
          random_floats(vocab, static_cast<uint32_t>(1000 * seed) + static_cast<uint32_t>(step));
      const auto draw = [&](SlotSampler& sampler, const Slice& slice) {
        sampler.take(slice);
        SampleRow row = sampler.next_token(slice);
        row.logits = logits.data();
        SampledRow drawn;
        backend->sample({&row, 1}, vocab, &drawn);
        return drawn;
      };
      const Tokens rest(tokens.begin() + fed, tokens.end());
      const Slice next =
          step == 0 ? first_slice(params, prompt_tokens, tokens) : slice_of(fed, rest);
      const SampledRow expected = draw(lived, next);
      if (fresh) {
        const auto cut = tokens.begin() + dice.below(static_cast<int>(tokens.size()));
        const Tokens history(tokens.begin(), cut);
        other.take(first_slice(params, prompt_tokens, Tokens(cut, tokens.end() - 1),
                               needs_history(params) ? history : Tokens{}));
      }
      const SampledRow drawn =
          fresh ? draw(other, slice_of(static_cast<int>(tokens.size()) - 1, {tokens.back()}))
                : draw(other, next);
      ASSERT_EQ(drawn.token, expected.token) << seed << " step " << step;
      ASSERT_EQ(drawn.logprob, expected.logprob);
      ASSERT_EQ(drawn.rank, expected.rank);
      if (expected.token < 0) break;  // the parameters leave nothing
      fed = static_cast<int>(tokens.size());
      tokens.push_back(expected.token);
      fresh = dice.below(5) == 0;
      if (fresh) other.take(first_slice(random_params(dice, vocab), 1, {1}));
    }
  }
}

}  // namespace
}  // namespace dure
