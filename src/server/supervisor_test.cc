// When a group is started again; the clock is the test's own.
#include "server/supervisor.h"

#include <gtest/gtest.h>

namespace dure {
namespace {

using std::chrono::milliseconds;

class SilentGroup : public Group {
 public:
  void send(const ToRanks&) override {}
  void stop() override {}
};

struct Fixture {
  Fixture()
      : supervisor(
            [this](Group::Events made) -> std::unique_ptr<Group> {
              ++launches;
              if (refuses) throw Error(ErrorCode::failed, "mpirun is not there");
              events = std::move(made);
              return std::make_unique<SilentGroup>();
            },
            [this](GroupEvent event) { posted.push_back(std::move(event)); },
            {milliseconds(100), milliseconds(400), milliseconds(60'000)}) {}

  // Dies, and returns how long it waits before the next start.
  milliseconds die_and_wait() {
    GroupFailed failure;
    failure.message = "gone";
    failure.cause = EndCause::killed;
    supervisor.died(failure, now);
    const auto due = supervisor.next_tick();
    supervisor.tick(due - milliseconds(1));
    const int before = launches;
    supervisor.tick(due);
    EXPECT_EQ(launches, before + 1);
    const auto waited = std::chrono::duration_cast<milliseconds>(due - now);
    now = due;
    return waited;
  }

  // The last event is of a group that has died.
  void hear_of_failure() {
    ASSERT_TRUE(supervisor.is_current(posted.back()));
    supervisor.died(std::get<GroupFailed>(posted.back().what), now);
  }

  int launches = 0;
  bool refuses = false;
  Group::Events events;
  std::vector<GroupEvent> posted;
  Supervisor supervisor;
  Supervisor::Time now{std::chrono::hours(1)};
};

TEST(Supervisor, WaitsLongerAfterEachDeathUpToABound) {
  Fixture fixture;
  fixture.supervisor.start();
  fixture.supervisor.became_ready(fixture.now);
  EXPECT_EQ(fixture.die_and_wait(), milliseconds(100));
  EXPECT_EQ(fixture.die_and_wait(), milliseconds(200));
  EXPECT_EQ(fixture.die_and_wait(), milliseconds(400));
  EXPECT_EQ(fixture.die_and_wait(), milliseconds(400));
  EXPECT_EQ(fixture.supervisor.restarts()[static_cast<size_t>(EndCause::killed)], 4);
  EXPECT_EQ(fixture.supervisor.restarts()[static_cast<size_t>(EndCause::failed)], 0);
}

TEST(Supervisor, ForgivesDeathsAfterALongService) {
  Fixture fixture;
  fixture.supervisor.start();
  fixture.supervisor.became_ready(fixture.now);
  fixture.die_and_wait();
  fixture.die_and_wait();
  fixture.supervisor.became_ready(fixture.now);
  fixture.now += milliseconds(60'000);
  EXPECT_EQ(fixture.die_and_wait(), milliseconds(100));
}

TEST(Supervisor, GivesUpOnAGroupThatNeverServed) {
  Fixture fixture;
  fixture.refuses = true;
  fixture.supervisor.start();
  fixture.hear_of_failure();
  EXPECT_EQ(fixture.supervisor.state(), GroupState::failed);
  EXPECT_EQ(fixture.supervisor.last_error().message(), "mpirun is not there");
  EXPECT_EQ(fixture.supervisor.next_tick(), Supervisor::Time::max());
}

TEST(Supervisor, KeepsTryingWhenARestartCannotEvenStart) {
  Fixture fixture;
  fixture.supervisor.start();
  fixture.supervisor.became_ready(fixture.now);
  fixture.refuses = true;
  fixture.die_and_wait();
  // One attempt, of which its owner hears as of any other death.
  EXPECT_EQ(fixture.supervisor.next_tick(), Supervisor::Time::max());
  fixture.hear_of_failure();
  EXPECT_EQ(fixture.supervisor.state(), GroupState::restarting);
  EXPECT_EQ(fixture.supervisor.last_error().message(), "mpirun is not there");
  fixture.refuses = false;
  fixture.supervisor.tick(fixture.supervisor.next_tick());
  fixture.supervisor.became_ready(fixture.now);
  EXPECT_EQ(fixture.supervisor.state(), GroupState::ready);
}

TEST(Supervisor, DoesNotMistakeTheWordsOfADeadGroupForItsSuccessors) {
  Fixture fixture;
  fixture.supervisor.start();
  const Group::Events first = fixture.events;
  first.on_ready(GroupReady{});
  EXPECT_TRUE(fixture.supervisor.is_current(fixture.posted.back()));
  fixture.supervisor.became_ready(fixture.now);
  fixture.die_and_wait();
  first.on_step(StepDone{});
  EXPECT_FALSE(fixture.supervisor.is_current(fixture.posted.back()));
  fixture.events.on_ready(GroupReady{});
  EXPECT_TRUE(fixture.supervisor.is_current(fixture.posted.back()));
}

}  // namespace
}  // namespace dure
