// Nesting, sums by part, and what is kept.
#include "trace/step_clock.h"

#include <gtest/gtest.h>

#include <numeric>

namespace dure {
namespace {

double sum(const std::array<double, part_count>& seconds) {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

TEST(StepClock, KeepsSpansThatNestWithTheirStepLayerAndName) {
  StepClock clock;
  clock.keep_spans();
  clock.begin_step(7);
  clock.set_layer(3);
  {
    const auto outer = clock.time(StepPart::attention, "attention");
    clock.begin(StepPart::collectives, "all-reduce of attention output", 4096);
    clock.end();
  }
  clock.end_step();
  const std::vector<Span> spans = clock.take_spans();  // the inner ones end first
  ASSERT_EQ(spans.size(), 3u);
  const Span& inner = spans[0];
  const Span& outer = spans[1];
  const Span& step = spans[2];
  EXPECT_EQ(clock.names()[inner.name], "all-reduce of attention output");
  EXPECT_EQ(inner.bytes, 4096);
  EXPECT_EQ(inner.layer, 3);
  EXPECT_EQ(clock.names()[outer.name], "attention");
  EXPECT_EQ(clock.names()[step.name], "step");
  EXPECT_EQ(step.layer, -1);
  for (const Span& span : spans) EXPECT_EQ(span.step, 7u);
  for (const auto& [in, out] : {std::pair(inner, outer), std::pair(outer, step)}) {
    EXPECT_GE(in.begin_ns, out.begin_ns);
    EXPECT_LE(in.begin_ns + in.length_ns, out.begin_ns + out.length_ns);
  }
  EXPECT_TRUE(clock.take_spans().empty());
}

TEST(StepClock, CountsTimeOnceInTheInnermostPart) {
  StepClock clock;
  const auto start = StepClock::Clock::now();
  clock.begin_step(1);
  clock.begin(StepPart::experts, "experts");
  clock.begin(StepPart::collectives, "exchange");
  const auto inside = StepClock::Clock::now();
  while (StepClock::Clock::now() - inside < std::chrono::milliseconds(2)) {
  }
  clock.end();
  clock.end();
  clock.end_step();
  const double all = std::chrono::duration<double>(StepClock::Clock::now() - start).count();
  EXPECT_GE(clock.seconds()[static_cast<size_t>(StepPart::collectives)], 0.002);
  EXPECT_LE(sum(clock.seconds()), all);
  EXPECT_TRUE(clock.take_spans().empty());  // nobody asked for them
}

TEST(StepClock, MeasuresNothingOutsideSteps) {
  StepClock clock;
  clock.keep_spans();
  { const auto scope = clock.time(StepPart::logits, "logits"); }
  clock.end_step();
  EXPECT_EQ(sum(clock.seconds()), 0.0);
  EXPECT_TRUE(clock.take_spans().empty());
}

TEST(StepClock, EndsWhatAnErrorLeftOpenWithTheStep) {
  StepClock clock;
  clock.keep_spans();
  clock.begin_step(1);
  clock.begin(StepPart::attention, "attention");
  clock.begin_step(2);
  clock.end_step();
  const std::vector<Span> spans = clock.take_spans();
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[1].step, 1u);
  EXPECT_EQ(spans[2].step, 2u);
}

TEST(StepClock, TakesAnyDepthAndBoundsItsMemory) {
  StepClock clock;
  clock.keep_spans();
  clock.begin_step(1);
  for (int i = 0; i < 20; ++i) clock.begin(StepPart::attention, "deep");
  for (int i = 0; i < 20; ++i) clock.end();
  for (size_t i = 0; i < StepClock::most_spans; ++i) {
    clock.begin(StepPart::attention, std::to_string(i));
    clock.end();
  }
  clock.end_step();
  EXPECT_EQ(clock.kept(), StepClock::most_spans);
  EXPECT_GT(clock.lost(), 0);
  EXPECT_LE(clock.names().size(), 256u);
  EXPECT_EQ(clock.take_spans().size(), StepClock::most_spans);
  EXPECT_EQ(clock.kept(), 0u);
}

}  // namespace
}  // namespace dure
