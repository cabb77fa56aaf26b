// The pace on machines whose steps take what a formula says.
#include "schedule/step_pace.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace dure {
namespace {

constexpr int32_t batch = 4096;

struct Machine {
  double step = 0.01;
  double decode = 0.001;
  double decode_key = 0.0;
  double any_prompt = 0.0;
  double token = 0.0005;
  double key = 0.0;

  double alone(const PacedStep& content) const {
    return step + decode * content.decodes + decode_key * content.decode_keys;
  }
  double seconds(const PacedStep& content) const {
    return alone(content) + (content.prompt_tokens > 0 ? any_prompt : 0.0) +
           token * content.prompt_tokens + key * content.prompt_keys;
  }
};

// A step with as much of a prompt of which `start` tokens are done as there is room for.
PacedStep take(const StepPace& pace, PacedStep content, int32_t start = 0) {
  const PromptRoom room = pace.room(content, batch);
  if (room.closed()) return content;
  content.prompt_tokens = std::max(1, room.fits(start));
  content.prompt_keys = keys_seen(start, content.prompt_tokens);
  return content;
}

TEST(StepPace, LimitsNothingWhereNothingDecodesOrNoStretchIsSet) {
  EXPECT_EQ(StepPace(2.0).room({}, batch).fits(0), batch);
  EXPECT_EQ(StepPace(0.0).room({5, 100.0}, batch).fits(0), batch);
  EXPECT_EQ(StepPace(1.0).room({5, 100.0}, batch).fits(0), batch);
}

TEST(StepPace, KeepsAStepWithPromptsWithinItsStretch) {
  const Machine machine;
  StepPace pace(2.0);
  int mixed = 0;
  for (int i = 0; i < 200; ++i) {
    const PacedStep step = take(pace, {10, 1000.0});
    EXPECT_LE(machine.seconds(step), 2.01 * machine.alone(step)) << i;
    pace.saw(step, machine.seconds(step));
    mixed += step.prompt_tokens > 0 ? 1 : 0;
  }
  EXPECT_GT(mixed, 190);
  EXPECT_NEAR(take(pace, {10, 1000.0}).prompt_tokens, 40, 1);  // 0.02 s of 0.0005 s
}

// Its tokens come to cost many times what the first did.
TEST(StepPace, FollowsWhatALongPromptsKeysCost) {
  Machine machine;
  machine.key = 1e-7;
  StepPace pace(2.0);
  int32_t done = 0;
  while (done < 30'000) {
    const PacedStep step = take(pace, {8, 2000.0}, done);
    EXPECT_LE(machine.seconds(step), 2.1 * machine.alone(step)) << done;
    pace.saw(step, machine.seconds(step));
    done += step.prompt_tokens;
  }
}

// One with many keys among those that decode makes the steps longer, and when it has gone, short
// again: room for prompts is what the step at hand takes, not what the last ones did.
TEST(StepPace, KnowsThatALongSequencesTokensTakeLonger) {
  Machine machine;
  machine.decode_key = 1e-6;
  StepPace pace(2.0);
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 100; ++i) {
      const PacedStep step = take(pace, {8, 2000.0 + i});
      EXPECT_LE(machine.seconds(step), 2.1 * machine.alone(step)) << round << " " << i;
      pace.saw(step, machine.seconds(step));
    }
    for (int i = 0; i < 16; ++i) {
      const PacedStep step = {9, 32'000.0 + i};
      pace.saw(step, machine.seconds(step));
    }
  }
}

// Where there being any prompt takes longer than the stretch allows, chunks are as long as that is
// worth; and they go on, whatever they take.
TEST(StepPace, DoesNotCutPromptsWhereThatCannotHelp) {
  Machine machine;
  machine.step = 0.0;
  machine.any_prompt = 0.1;
  machine.token = 0.001;
  StepPace pace(1.5);
  pace.saw({1, 10.0}, 0.001);
  for (int i = 0; i < 100; ++i) {
    const PacedStep step = take(pace, {1, 10.0});
    pace.saw(step, machine.seconds(step));
  }
  pace.saw({1, 10.0}, 0.001);
  EXPECT_NEAR(take(pace, {1, 10.0}).prompt_tokens, 100, 5);
  EXPECT_EQ(paced_tokens(1.5, 0.001, {0.0, 1.0}), 1.0);
}

// Each explanation of chunks of one size would justify them.
TEST(StepPace, TellsWhatTokensCostFromWhatAnyPromptCosts) {
  Machine machine;
  machine.any_prompt = 0.002;
  machine.token = 0.0001;
  StepPace pace(1.8);
  for (int i = 0; i < 300; ++i) {
    const PacedStep step = take(pace, {10, 1000.0});
    const double ratio = machine.seconds(step) / machine.alone(step);
    if (i > 100) EXPECT_LE(ratio, 1.85) << i;
    pace.saw(step, machine.seconds(step));
  }
  pace.saw({10, 1000.0}, machine.alone({10, 1000.0}));
  EXPECT_NEAR(take(pace, {10, 1000.0}).prompt_tokens, 140, 5);  // (0.8 * 0.02 - 0.002) / 0.0001
}

// Nothing is known at first, and a noisy slope may come out as none.
TEST(StepPace, NeverTakesMoreThanTwiceTheLastChunk) {
  StepPace pace(2.0);
  pace.saw({4, 100.0}, 1.0);
  int32_t last = 8;
  for (int i = 0; i < 8; ++i) {
    const PacedStep step = take(pace, {4, 100.0});
    EXPECT_LE(step.prompt_tokens, 2 * last);
    pace.saw(step, 1.0);
    last = step.prompt_tokens;
  }
  EXPECT_GT(last, 200);
}

// The long one was in the cache: its tokens see many keys at once.
TEST(StepPace, GrowsByWhatTokensSeeToo) {
  Machine machine;
  StepPace pace(2.0);
  pace.saw({4, 100.0}, machine.seconds({4, 100.0}));
  for (int i = 0; i < 20; ++i) {
    const PacedStep step = take(pace, {4, 100.0});
    pace.saw(step, machine.seconds(step));
  }
  const PromptRoom room = pace.room({4, 100.0}, batch);
  EXPECT_LE(room.fits(30 * 1024), 2 * room.fits(0) / 30 + 1);
}

TEST(StepPace, IsNotMovedMuchByOneStepThatWasHeldUp) {
  const Machine machine;
  StepPace pace(2.0);
  for (int i = 0; i < 200; ++i) {
    const PacedStep step = take(pace, {10, 1000.0});
    pace.saw(step, machine.seconds(step));
  }
  pace.saw({10, 1000.0}, 40 * machine.alone({10, 1000.0}));
  const PacedStep step = take(pace, {10, 1000.0});
  EXPECT_LE(machine.seconds(step), 2.2 * machine.alone(step));
}

TEST(StepPace, LimitsNothingWhereDurationsAreNotTold) {
  StepPace pace(2.0);
  pace.saw({1, 10.0}, 0.0);
  EXPECT_EQ(pace.room({1, 10.0}, batch).fits(0), batch);
}

TEST(StepPace, LooksAgainNowAndThenWhatDecodingTakes) {
  const Machine machine;
  StepPace pace(2.0);
  pace.saw({4, 100.0}, machine.seconds({4, 100.0}));
  int probes = 0;
  for (int i = 0; i < 1000; ++i) {
    const PacedStep step = take(pace, {4, 100.0});
    probes += step.prompt_tokens == 0 ? 1 : 0;
    pace.saw(step, machine.seconds(step));
  }
  EXPECT_GE(probes, 10);
  EXPECT_LE(probes, 30);
}

TEST(PromptRoom, HoldsWhatFitsAndNoTokenMore) {
  const PromptCost cost{0.0, 0.002, 1e-6};
  const PromptRoom room(batch, 1.0, cost, PromptRoom::no_limit);
  for (const int32_t start : {0, 100, 10'000, 1'000'000}) {
    const int32_t fits = room.fits(start);
    EXPECT_LE(0.002 * fits + 1e-6 * keys_seen(start, fits), 1.0) << start;
    EXPECT_GT(0.002 * (fits + 1) + 1e-6 * keys_seen(start, fits + 1), 1.0) << start;
    PromptRoom rest = room;
    rest.take(start, fits);
    EXPECT_EQ(rest.fits(start + fits), 0) << start;
  }
}

}  // namespace
}  // namespace dure
