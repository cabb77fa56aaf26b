// Whose mask is made next, with seconds that the test says.
#include "server/mask_queue.h"

#include <gmock/gmock.h>

namespace dure {
namespace {

class OfGrammar : public TokenConstraint {
 public:
  explicit OfGrammar(std::shared_ptr<const void> grammar) : grammar_(std::move(grammar)) {}
  void accept(int32_t) override {}
  std::vector<uint64_t> mask() override { return {}; }
  std::optional<std::vector<uint64_t>> mask_within(uint64_t&) override { return std::nullopt; }
  std::shared_ptr<const void> grammar() const override { return grammar_; }

 private:
  std::shared_ptr<const void> grammar_;
};

struct Grammar {
  std::shared_ptr<const void> shared = std::make_shared<int>();
  MaskJob job(uint64_t sequence) const { return {sequence, std::make_shared<OfGrammar>(shared)}; }
};

TEST(MaskQueue, LeavesAWorkerFreeOfAGrammarThatWantsThemAll) {
  MaskQueue queue(2);
  const Grammar hostile, usual;
  for (uint64_t id = 1; id <= 5; ++id) queue.push(hostile.job(id));
  const MaskJob first = *queue.take();
  EXPECT_EQ(first.sequence, 1u);
  EXPECT_FALSE(queue.take());  // the other worker waits for others
  queue.push(usual.job(9));
  EXPECT_EQ(queue.take()->sequence, 9u);
  queue.done(first, 0.2);
  EXPECT_EQ(queue.take()->sequence, 2u);
}

TEST(MaskQueue, ServesTheGrammarThatHasTakenTheLeastTime) {
  MaskQueue queue(3);
  const Grammar slow, quick;
  for (uint64_t id = 1; id <= 3; ++id) queue.push(slow.job(id));
  queue.done(*queue.take(), 0.2);
  for (uint64_t id = 11; id <= 14; ++id) queue.push(quick.job(id));
  std::vector<uint64_t> order;
  while (const std::optional<MaskJob> job = queue.take()) {
    order.push_back(job->sequence);
    queue.done(*job, job->sequence < 10 ? 0.2 : 0.01);
  }
  // They begin level, so either may be first; then all of the quick one before another slow one.
  EXPECT_EQ(order.size(), 6u);
  EXPECT_EQ(order.back(), 3u);
  EXPECT_THAT(std::vector(order.begin() + 2, order.end() - 1), ::testing::ElementsAre(12, 13, 14));
}

TEST(MaskQueue, StartsANewcomerLevelWithTheOthers) {
  MaskQueue queue(2);
  const Grammar old, fresh;
  queue.push(old.job(1));
  const MaskJob first = *queue.take();
  queue.push(old.job(2));
  queue.done(first, 100.0);
  queue.push(fresh.job(11));
  queue.push(fresh.job(12));
  const MaskJob once = *queue.take();
  queue.done(once, 0.1);
  const MaskJob then = *queue.take();
  queue.done(then, 0.1);
  // Not both of the newcomer's for the hundred seconds that it was not there.
  EXPECT_TRUE((once.sequence < 10) != (then.sequence < 10));
}

TEST(MaskQueue, DoesEverythingWithOneWorkerAndForgetsGrammarsThatAreGone) {
  MaskQueue queue(1);
  for (uint64_t id = 0; id < 2000; ++id) {
    queue.push(Grammar().job(id));
    const std::optional<MaskJob> job = queue.take();
    ASSERT_TRUE(job);
    EXPECT_EQ(job->sequence, id);
    queue.done(*job, 0.001);
  }
  EXPECT_FALSE(queue.take());
}

}  // namespace
}  // namespace dure
